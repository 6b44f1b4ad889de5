/** Programs that called tools over MCP, with the sessions that they worked in and what they called there. */

import { useCallback, useState } from "react"

import { report } from "../../services/app.ts"
import { routeTo } from "../../core/route.ts"
import { deedOf } from "../../texts.ts"
import type { ClientAnswer, ClientCallAnswer, ClientSessionAnswer } from "../../wire/generated.ts"
import { listClientCalls, listClients } from "../../services/settings.ts"
import { Icon } from "../icons.tsx"
import { formatTime, titleOf, useLocale, useSay } from "../language.tsx"
import { useLoaded } from "./loaded.ts"
import { Loading } from "./Loading.tsx"
import { useWords } from "./words.ts"

export default function Clients() {
  const words = useWords()
  const { value } = useLoaded(listClients)
  if (value === null) return <Loading />
  return (
    <>
      <div className="stack-head">
        <h2>{words("clients")}</h2>
        <p className="hint">{words("clientsHint", { days: value.days })}</p>
      </div>
      {value.clients.length === 0 && (
        <div className="card empty">
          <p>{words("noClients")}</p>
          <p className="hint">{words("connectHint")}</p>
        </div>
      )}
      {value.clients.map((client) => (
        <Client key={`${client.name} ${client.door}`} client={client} />
      ))}
    </>
  )
}

function Client({ client }: { client: ClientAnswer }) {
  const words = useWords()
  const locale = useLocale()
  const name = client.name || words("unnamed")
  return (
    <section className="card" aria-label={name}>
      <div className="row box-row">
        <Icon name="plug" />
        <div className="grow">
          <h3 className="item-title">{name}</h3>
          <p className="hint num">
            {client.door === "mcp-http" ? "HTTP" : "stdio"} · {words("callCount", { count: client.calls })} ·{" "}
            {words("lastTime", { time: formatTime(client.lastAt, locale) })}
          </p>
        </div>
      </div>
      <ul className="list">
        {client.sessions.map((session) => (
          <ClientSession key={session.id || "deleted"} session={session} client={client.name} />
        ))}
      </ul>
    </section>
  )
}

function ClientSession({ session, client }: { session: ClientSessionAnswer; client: string }) {
  const words = useWords()
  const say = useSay()
  const locale = useLocale()
  const [isOpen, setOpen] = useState(false)
  const title = session.id === "" ? words("deletedSession") : titleOf({ title: session.title, client }, say)
  return (
    <li>
      <div className="item middle">
        <div className="grow">
          <h4 className="item-title">{title}</h4>
          <div className="meta num dots">
            {session.title === "" && session.id !== "" && <span className="mono cut">{session.id}</span>}
            <span>{words("callCount", { count: session.calls })}</span>
            <span>{formatTime(session.lastAt, locale)}</span>
          </div>
        </div>
        {session.id !== "" && (
          <>
            <button
              type="button"
              className="btn quiet"
              aria-expanded={isOpen}
              aria-label={`${words(isOpen ? "hideCalls" : "showCalls")}: ${title}`}
              onClick={() => setOpen(!isOpen)}
            >
              {words(isOpen ? "hideCalls" : "showCalls")}
            </button>
            <a
              className="btn"
              aria-label={`${words("openSession")}: ${title}`}
              href={routeTo({ screen: "chat", sessionId: session.id })}
            >
              {words("openSession")}
            </a>
          </>
        )}
      </div>
      {isOpen && <Calls sessionId={session.id} />}
    </li>
  )
}

/** What a program did in a session that has no talk: its own record there. */
export function ForeignCalls({ sessionId, client }: { sessionId: string; client: string }) {
  const words = useWords()
  return (
    <section className="card foreign" aria-label={client}>
      <div className="row box-row">
        <Icon name="plug" />
        <div className="grow">
          <h2 className="item-title">{client}</h2>
          <p className="hint">{words("foreignHint")}</p>
        </div>
      </div>
      <Calls sessionId={sessionId} />
    </section>
  )
}

function Calls({ sessionId }: { sessionId: string }) {
  const words = useWords()
  const { value, set } = useLoaded(useCallback(() => listClientCalls(sessionId), [sessionId]))
  if (value === null) return <Loading />
  const more = async () => {
    const page = await listClientCalls(sessionId, value.calls.at(-1)?.seq ?? 0)
    set({ calls: [...value.calls, ...page.calls], hasMore: page.hasMore })
  }
  return (
    <>
      <ol className="client-calls">
        {value.calls.map((call) => (
          <ClientCall key={call.seq} call={call} />
        ))}
      </ol>
      {value.hasMore && (
        <button type="button" className="btn quiet" onClick={() => void more().catch(report)}>
          {words("more")}
        </button>
      )}
    </>
  )
}

function ClientCall({ call }: { call: ClientCallAnswer }) {
  const words = useWords()
  const locale = useLocale()
  return (
    <li>
      <time className="num soft xs" dateTime={call.at}>
        {formatTime(call.at, locale)}
      </time>
      <b>{deedOf(call.tool, locale)}</b>
      <code className="xs soft">{call.tool}</code>
      <span className="cut grow soft small">{call.arguments === "{}" ? "" : call.arguments}</span>
      {call.outcome !== "ok" && <span className="chip bad">{words("failedWith", { code: call.outcome })}</span>}
    </li>
  )
}
