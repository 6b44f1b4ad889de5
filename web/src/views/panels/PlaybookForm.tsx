/** Writing a playbook: goal, first words, steps and when it is done. What a form does not show of a step is kept. */

import { useState, type FormEvent } from "react"

import { act } from "../../services/panels.ts"
import type { Playbook, Step } from "../../wire/types.ts"
import { Icon } from "../icons.tsx"
import type { PanelSay } from "./words.ts"

type Draft = Partial<Step> & { key: number; description: string }

interface FormProps {
  sessionId: string
  playbook?: Playbook
  say: PanelSay
  onClose: () => void
}

export function PlaybookForm({ sessionId, playbook, say, onClose }: FormProps) {
  const [goal, setGoal] = useState(playbook?.goal ?? "")
  const [command, setCommand] = useState(playbook?.initialCommand ?? "")
  const [criteria, setCriteria] = useState(playbook?.successCriteria.description ?? "")
  const [steps, setSteps] = useState<Draft[]>(() =>
    playbook ? playbook.workflow.map((step, key) => ({ ...step, key })) : [{ key: 0, description: "" }],
  )
  const [isSaving, setSaving] = useState(false)

  const save = async (event: FormEvent) => {
    event.preventDefault()
    setSaving(true)
    const workflow = steps.filter(({ description }) => description.trim() !== "").map(({ key: _, ...step }) => step)
    const values = { goal, initialCommand: command, workflow, successCriteria: { description: criteria } }
    const outcome = playbook
      ? await act(sessionId, "update_playbook", {
          id: playbook.id,
          playbook: values,
          expectedVersion: playbook.version,
        })
      : await act(sessionId, "create_playbook", values)
    setSaving(false)
    if (outcome) onClose()
  }
  const change = (index: number, description: string) =>
    setSteps(steps.map((step, place) => (place === index ? { ...step, description } : step)))
  const move = (index: number, to: number) => {
    const moved = [...steps]
    moved.splice(to, 0, ...moved.splice(index, 1))
    setSteps(moved)
  }
  return (
    <form className="panel-form" onSubmit={(event) => void save(event)}>
      <div className="row">
        <button type="button" className="ib" aria-label={say("back")} onClick={onClose}>
          <Icon name="back" />
        </button>
        <h2 className="grow cut">{playbook ? playbook.goal : say("newPlaybook")}</h2>
      </div>
      <label className="field">
        <span>{say("playbookGoal")}</span>
        <input
          className="input"
          value={goal}
          maxLength={2000}
          required
          autoFocus
          onChange={(event) => setGoal(event.target.value)}
        />
      </label>
      <label className="field">
        <span>{say("playbookCommand")}</span>
        <textarea
          className="input"
          rows={2}
          value={command}
          maxLength={4000}
          onChange={(event) => setCommand(event.target.value)}
        />
      </label>
      <fieldset className="field">
        <legend>{say("playbookSteps")}</legend>
        <ol className="step-fields">
          {steps.map((step, index) => (
            <li key={step.key} className="row">
              <span className="num soft">{index + 1}</span>
              <input
                className="input grow"
                aria-label={say("playbookStep", { number: index + 1 })}
                value={step.description}
                maxLength={4000}
                onChange={(event) => change(index, event.target.value)}
              />
              <button
                type="button"
                className="ib"
                aria-label={`${say("moveUp")} (${index + 1})`}
                disabled={index === 0}
                onClick={() => move(index, index - 1)}
              >
                <Icon name="up" />
              </button>
              <button
                type="button"
                className="ib"
                aria-label={say("removeStep", { number: index + 1 })}
                onClick={() => setSteps(steps.filter((_, place) => place !== index))}
              >
                <Icon name="cross" />
              </button>
            </li>
          ))}
        </ol>
        <button
          type="button"
          className="btn quiet"
          onClick={() =>
            setSteps([...steps, { key: Math.max(-1, ...steps.map(({ key }) => key)) + 1, description: "" }])
          }
        >
          <Icon name="plus" small />
          {say("addStep")}
        </button>
      </fieldset>
      <label className="field">
        <span>{say("playbookDone")}</span>
        <input
          className="input"
          value={criteria}
          maxLength={4000}
          onChange={(event) => setCriteria(event.target.value)}
        />
      </label>
      <div className="row">
        <button type="submit" className="btn main" disabled={isSaving || goal.trim() === ""}>
          {say("save")}
        </button>
        <button type="button" className="btn quiet" onClick={onClose}>
          {say("cancel")}
        </button>
      </div>
    </form>
  )
}
