/**
 * Korean particles by the sound of the word before them: 책을 but 나무를, 책상으로 but 연필로.
 *
 * The twin of `core/particles.py`, which says why each rule is as it is; `particles.json` holds both to one table.
 */

export type Ending = "vowel" | "rieul" | "consonant"

/** The form after a consonant, by which a text names a particle, and the form after a vowel. */
const PARTICLES = { 은: "는", 이: "가", 을: "를", 과: "와", 으로: "로", 이라: "라" } as const
export type Particle = keyof typeof PARTICLES

const PLACEHOLDER = /\{(은|이|을|과|으로|이라)\}/
const NUMBER = /(\.)?(\d[\d,]*)$/
const UNIT = /\d ?(?:(m|mm|cm|km|l|ml|s|ms|[kmgt]i?b)|(px)|(?:g|kg|mg|h|min))$/i
const LATIN = /([A-Z]+|[A-Z]?[a-z]+)$/
const REMARK = /(?<=[\p{L}\p{N}])(['"`’”»」』》〉]*) ?\([^()]*\)$/u
const SILENT_END = /[^\p{L}\p{N}%‰℃℉]$/u
const SPOKEN_SIGN = /[%‰℃℉]$/
const CONSONANT_WORD = /[mn]$|ng$|[aeiou][mn]e$|ck$|ook$|ype$|(?:^|[^aeiou])(?:[aeiou](?:[ckt]|pp?)|[aeio]b)$/

/** The form of a particle after the text `before`. */
export function particle(name: Particle, before: string): string {
  const ending = endingOf(before)
  const withConsonant = ending === "consonant" || (ending === "rieul" && name !== "으로")
  return withConsonant ? name : PARTICLES[name]
}

/** Fill a text part by part, each particle by what was filled in before it. */
export function withParticles(text: string, fill: (part: string) => string): string {
  const [head = "", ...rest] = text.split(PLACEHOLDER)
  let filled = fill(head)
  for (let index = 0; index < rest.length; index += 2) {
    filled += particle(rest[index] as Particle, filled) + fill(rest[index + 1] ?? "")
  }
  return filled
}

/** How the last word of a text sounds at its end. Quotes, brackets and other signs after it are silent. */
export function endingOf(text: string): Ending {
  const word = spoken(text.slice(-200).normalize("NFC"))
  if (word === "" || SPOKEN_SIGN.test(word)) return "vowel"
  const last = word.charCodeAt(word.length - 1)
  if (last >= 0xac00 && last <= 0xd7a3) {
    const final = (last - 0xac00) % 28
    return final === 0 ? "vowel" : final === 8 ? "rieul" : "consonant"
  }
  const plain = word.normalize("NFKD").replace(/\p{M}/gu, "")
  return endingOfNumber(plain) ?? endingOfLatin(plain) ?? "vowel"
}

function spoken(text: string): string {
  const bare = text.trimEnd().replace(REMARK, "$1").replace(SILENT_END, "")
  return bare === text ? text : spoken(bare)
}

function endingOfNumber(text: string): Ending | undefined {
  const number = NUMBER.exec(text)
  if (!number) return undefined
  const digits = (number[2] ?? "").replaceAll(",", "")
  const zeros = digits.length - digits.replace(/0+$/, "").length
  const isAmount = number[1] === undefined && digits.length <= 16
  // 조, 십조, 백조 and 천조; all other round numbers end in a consonant.
  if (isAmount && zeros >= 12 && zeros < 16 && zeros < digits.length) return "vowel"
  return bySign(digits.slice(-1), "178", "036")
}

function endingOfLatin(text: string): Ending | undefined {
  const unit = UNIT.exec(text)
  if (unit) return unit[1] ? "vowel" : unit[2] ? "rieul" : "consonant"
  const word = LATIN.exec(text)?.[1]
  if (word === undefined) return undefined
  const isSpelt = /\d$/.test(text.slice(0, -word.length)) || /^[A-Z]{1,3}$/.test(word) || !/[aeiouy]/i.test(word)
  return isSpelt ? bySign(word.slice(-1).toLowerCase(), "lr", "mn") : endingOfWord(word.toLowerCase())
}

function endingOfWord(word: string): Ending {
  return /le?$/.test(word) ? "rieul" : CONSONANT_WORD.test(word) ? "consonant" : "vowel"
}

function bySign(sign: string, rieul: string, consonant: string): Ending {
  return rieul.includes(sign) ? "rieul" : consonant.includes(sign) ? "consonant" : "vowel"
}
