/** The words of these screens, in the language of what is drawn. */

import { useMemo } from "react"

import { settingsSpeaker, type Words } from "../../texts/settings.ts"
import { useLocale } from "../language.tsx"

export function useWords(): Words {
  const locale = useLocale()
  return useMemo(() => settingsSpeaker(locale), [locale])
}
