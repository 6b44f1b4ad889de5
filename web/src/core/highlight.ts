/** Colours for code, by what most languages share: comments, strings, numbers, keywords. Not a parser, and linear. */

export type TokenKind = "" | "comment" | "string" | "number" | "keyword"
export type Token = readonly [kind: TokenKind, text: string]

/** Beyond this, code is shown plain: nobody reads it for its colours. */
const MAX_CHARS = 100_000

const C_COMMENT = String.raw`//[^\n]*|/\*[\s\S]*?(?:\*/|$)`
const HASH_COMMENT = String.raw`#[^\n]*`
const SQL_COMMENT = String.raw`--[^\n]*|/\*[\s\S]*?(?:\*/|$)`
const STRING = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?`
const LONG_STRING = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)`
const TEMPLATE = "`(?:\\\\[\\s\\S]|[^`\\\\])*`?"

const C_WORDS =
  "abstract any as async await bool boolean break byte case catch char class const continue default defer defined delete do double else enum export extends extern false final finally float fn for from func function go if impl implements import in instanceof int interface let long loop match mod mut namespace new nil null number of package private protected pub public readonly return self short static string struct super switch this throw throws trait true try type typeof undefined unsafe unsigned use using var void where while yield"
const PYTHON_WORDS =
  "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"
const SHELL_WORDS = "case do done elif else esac export fi for function if in local return set then unset until while"
const SQL_WORDS =
  "add all alter and as asc begin between by case commit create delete desc distinct drop else end exists foreign from group having in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then union unique update values view when where with"
const DATA_WORDS = "true false null yes no"

const FAMILIES: [names: string, pattern: string, words: string][] = [
  [
    "js jsx ts tsx javascript typescript c cpp c++ h java kotlin kt swift go rust rs csharp cs php dart scala",
    `${C_COMMENT}|${STRING}|${TEMPLATE}`,
    C_WORDS,
  ],
  ["py python", `${HASH_COMMENT}|${LONG_STRING}|${STRING}`, PYTHON_WORDS],
  ["sh bash shell zsh console", `${HASH_COMMENT}|${STRING}`, SHELL_WORDS],
  ["sql", `${SQL_COMMENT}|${STRING}`, `${SQL_WORDS} ${SQL_WORDS.toUpperCase()}`],
  ["json json5 jsonc", `${C_COMMENT}|${STRING}`, DATA_WORDS],
  ["yaml yml toml ini", `${HASH_COMMENT}|${STRING}`, DATA_WORDS],
]

interface Language {
  pattern: RegExp
  words: ReadonlySet<string>
}

const languages = new Map<string, Language>(
  FAMILIES.flatMap(([names, strings, words]) => {
    const pattern = new RegExp(`(${strings})|(\\b\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, "g")
    return names.split(" ").map((name) => [name, { pattern, words: new Set(words.split(" ")) }] as const)
  }),
)

/** Cut code into tokens, which joined are the code again. A language that is not known is one plain token. */
export function highlight(code: string, languageName: string): Token[] {
  const language = languages.get(languageName.toLowerCase())
  if (language === undefined || code.length > MAX_CHARS) return [["", code]]
  const tokens: Token[] = []
  let end = 0
  for (const match of code.matchAll(language.pattern)) {
    const kind = kindOf(match, language)
    if (kind === "") continue
    if (match.index > end) tokens.push(["", code.slice(end, match.index)])
    tokens.push([kind, match[0]])
    end = match.index + match[0].length
  }
  if (end < code.length) tokens.push(["", code.slice(end)])
  return tokens
}

function kindOf([text, literal, number]: RegExpExecArray, { words }: Language): TokenKind {
  if (literal !== undefined) return /^["'`]/.test(literal) ? "string" : "comment"
  if (number !== undefined) return "number"
  return words.has(text) ? "keyword" : ""
}
