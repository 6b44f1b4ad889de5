/**
 * The names of characters in Markdown (`&nbsp;`, `&rarr;`): those of HTML 4, which is what people and models write. All
 * 2,125 of HTML 5 would weigh 12 KB; a browser's own way to look them up is an innerHTML, which Trusted Types refuse. A
 * name that is not here stays as it was written.
 */

import { characterEntitiesHtml4 } from "character-entities-html4"

export function decodeNamedCharacterReference(name: string): string | false {
  return Object.hasOwn(characterEntitiesHtml4, name) ? characterEntitiesHtml4[name]! : false
}
