/** What cannot be drawn, or not be loaded, says so in its place: the rest goes on. */

import { Component, type ReactNode } from "react"

import { Icon } from "./icons.tsx"
import { useSay } from "./language.tsx"

interface Props {
  /** At another place it is tried again. */
  place: string
  children: ReactNode
}

export class Boundary extends Component<Props, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override componentDidUpdate({ place }: Props) {
    if (this.state.hasFailed && place !== this.props.place) this.setState({ hasFailed: false })
  }

  override render() {
    return this.state.hasFailed ? <NotDrawn /> : this.props.children
  }
}

function NotDrawn() {
  const say = useSay()
  return (
    <div className="empty" role="alert">
      <Icon name="warning" />
      <b>{say("partFailed")}</b>
      {say("draftsStay")}
      <button type="button" className="btn" onClick={() => location.reload()}>
        {say("reloadPage")}
      </button>
    </div>
  )
}
