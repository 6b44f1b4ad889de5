/**
 * The tour of the first run: five steps that are real calls, in a session of their own. What they make stays.
 *
 * The steps are data: the tool, its arguments in the person's language, and what is told when it is done. Pure.
 */

import type { Locale, ToolOutcome, TurnCall } from "../wire/types.ts"

/** What a step has brought. Where the person is the model, only its id: the rest is in the talk. */
export interface TourResult {
  callId: string
  text: string
  viewId: string
  pauseId: string
  tool: string
}

export interface Tour {
  /** Empty until the first step is made. */
  sessionId: string
  results: TourResult[]
  /** What the person answered in the third step; the last two steps use it. */
  answer: string
  isSkipped: boolean
  /** Asked for, though this is not the first run. */
  isWanted: boolean
}

export const NEW_TOUR: Tour = { sessionId: "", results: [], answer: "", isSkipped: false, isWanted: false }
export const STEP_COUNT = 5
/** The step that waits for an answer. */
export const QUESTION_STEP = 2

/** The step that is to be done; `STEP_COUNT` when all are. */
export function currentStep({ results, answer }: Tour): number {
  return results.length === QUESTION_STEP + 1 && answer === "" ? QUESTION_STEP : results.length
}

export function isTourOver(tour: Tour): boolean {
  return currentStep(tour) >= STEP_COUNT
}

/** The calls of a step; all but the last only prepare it. */
export function callsOfStep(step: number, locale: Locale, answer: string): TurnCall[] {
  const t = (en: string, ko: string) => (locale === "ko" ? ko : en)
  const title = answer || t("Weekly report", "주간 보고서")
  const path = `${
    title
      .replaceAll(/[^\p{L}\p{N} ._-]/gu, "")
      .trim()
      .slice(0, 60) || "report"
  }.md`
  const weeks = [6, 9, 7, 11, 14].map((value, index) => ({ label: t(`W${42 + index}`, `${42 + index}주`), value }))
  const fixes = [12, 8, 10, 7, 5].map((value, index) => ({ label: t(`W${42 + index}`, `${42 + index}주`), value }))
  const steps: TurnCall[][] = [
    [
      {
        tool: "create_playbook",
        arguments: {
          goal: t("Publish the weekly report", "주간 보고서 발행"),
          workflow: [
            { description: t("Collect what was merged last week", "지난주에 병합된 변경 모으기") },
            { description: t("Draw a chart by week", "주별 차트 그리기") },
            { description: t("Ask for the title and export", "제목을 물어보고 내보내기") },
          ],
        },
      },
    ],
    [{ tool: "show_playbooks", arguments: {} }],
    [
      {
        tool: "prompt_user",
        arguments: {
          type: "text",
          prompt: t("What shall the report be called?", "보고서 제목을 무엇으로 할까요?"),
          placeholder: t("Weekly report", "주간 보고서"),
        },
      },
    ],
    [
      {
        tool: "visualize_data",
        arguments: {
          type: "bar",
          title,
          series: [
            { name: t("Features", "기능"), data: weeks },
            { name: t("Fixes", "고침"), data: fixes },
          ],
        },
      },
    ],
    [
      { tool: "write_file", arguments: { path, content: `# ${title}\n\n${t("19 changes.", "변경 19건.")}\n` } },
      { tool: "export_file", arguments: { path } },
    ],
  ]
  return steps[step] ?? []
}

export function addResult(tour: Tour, tool: string, outcome: ToolOutcome): Tour {
  const { text, view, pauseId } = outcome
  return { ...tour, results: [...tour.results, { callId: "", text, tool, viewId: view?.id ?? "", pauseId }] }
}

/** A step that was the model's turn. */
export function addTurn(tour: Tour, tool: string, callId: string): Tour {
  return { ...tour, results: [...tour.results, { callId, tool, text: "", viewId: "", pauseId: "" }] }
}

/** What `get_prompt` tells of a question: null while it is open, empty where it was not answered. */
export function answerOf(data: unknown): string | null {
  if (typeof data !== "object" || data === null) return null
  const { status, answer } = data as Record<string, unknown>
  if (typeof status !== "string" || status === "pending") return null
  return typeof answer === "string" ? answer : ""
}
