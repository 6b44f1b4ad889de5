/** What a page is told of its surroundings: theme, language, and our tokens under MCP Apps' names. */

import type { Locale } from "../wire/types.ts"

const TOKENS: Record<string, string> = {
  "--color-background-primary": "--surface",
  "--color-background-secondary": "--sunken",
  "--color-background-tertiary": "--hover",
  "--color-background-inverse": "--ink",
  "--color-background-info": "--jjok-soft",
  "--color-background-danger": "--dan-soft",
  "--color-background-success": "--sol-soft",
  "--color-background-warning": "--gam-soft",
  "--color-text-primary": "--ink",
  "--color-text-secondary": "--ink-2",
  "--color-text-tertiary": "--ink-3",
  "--color-text-inverse": "--paper",
  "--color-text-info": "--jjok",
  "--color-text-danger": "--dan",
  "--color-text-success": "--sol",
  "--color-text-warning": "--gam-ink",
  "--color-border-primary": "--ink-3",
  "--color-border-secondary": "--edge",
  "--color-border-tertiary": "--line",
  "--color-border-info": "--jjok",
  "--color-border-danger": "--dan",
  "--color-border-success": "--sol",
  "--color-border-warning": "--gam",
  "--color-ring-primary": "--ring",
  "--color-ring-info": "--ring",
  "--color-ring-danger": "--dan",
  "--color-ring-success": "--sol",
  "--color-ring-warning": "--gam",
  "--font-sans": "--sans",
  "--font-mono": "--mono",
  "--shadow-sm": "--shadow-s",
  "--shadow-md": "--shadow-m",
  "--shadow-lg": "--shadow-l",
}

const FIXED: Record<string, string> = {
  "--font-text-xs-size": "12px",
  "--font-text-sm-size": "13px",
  "--font-text-md-size": "14px",
  "--font-text-lg-size": "15px",
  "--font-heading-xs-size": "13px",
  "--font-heading-sm-size": "14px",
  "--font-heading-md-size": "16px",
  "--font-heading-lg-size": "18px",
  "--font-heading-xl-size": "22px",
  "--border-radius-xs": "4px",
  "--border-radius-sm": "6px",
  "--border-radius-md": "9px",
  "--border-radius-lg": "13px",
  "--border-radius-xl": "18px",
  "--border-radius-full": "999px",
  "--border-width-regular": "1px",
}

export function isDark(): boolean {
  const { theme } = document.documentElement.dataset
  return theme === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark"
}

export function hostContext(locale: Locale): Record<string, unknown> {
  const style = getComputedStyle(document.documentElement)
  const variables: Record<string, string> = {
    ...FIXED,
    "--shadow-hairline": `0 0 0 1px ${style.getPropertyValue("--line")}`,
  }
  for (const [name, token] of Object.entries(TOKENS)) variables[name] = style.getPropertyValue(token).trim()
  return {
    theme: isDark() ? "dark" : "light",
    locale: locale === "ko" ? "ko-KR" : "en-US",
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    platform: "web",
    displayMode: "inline",
    availableDisplayModes: ["inline", "fullscreen"],
    styles: { variables },
  }
}
