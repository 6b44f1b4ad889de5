/** All data at once: where it is, a backup, an export, and deleting everything for a sentence. */

import { useState, type ReactNode } from "react"

import { notify, report } from "../../services/app.ts"
import { saveAll } from "../../services/archives.ts"
import { deleteData, getData, getDataSize } from "../../services/settings.ts"
import { formatBytes, useLocale } from "../language.tsx"
import { Ask } from "./Ask.tsx"
import { useLoaded } from "./loaded.ts"
import { Loading } from "./Loading.tsx"
import { Requests } from "./Requests.tsx"
import { useWords } from "./words.ts"

export default function Data() {
  const words = useWords()
  const locale = useLocale()
  const { value } = useLoaded(getData)
  const [isAsking, setAsking] = useState(false)
  const [typed, setTyped] = useState("")
  const [preparing, setPreparing] = useState<"" | "backup" | "export">("")
  const [isDone, setDone] = useState(false)
  if (value === null) return <Loading />
  const isRight = typed.trim().replace(/\s+/g, " ").toLowerCase() === value.deletionWords.toLowerCase()
  const save = async (kind: "backup" | "export") => {
    setPreparing(kind)
    try {
      await saveAll(kind)
    } finally {
      setPreparing("")
    }
  }
  if (isDone) return <p className="note">{words("deleteAllDone")}</p>
  return (
    <>
      <section className="card" aria-label={words("dataFolder")}>
        <div className="row box-row">
          <div className="grow">
            <h2>{words("dataFolder")}</h2>
            <p className="hint mono">{value.folder}</p>
            <p className="hint num">
              <Size /> · {words("dataFree", { free: formatBytes(value.freeBytes, locale) })}
            </p>
            {value.isOnServer && <p className="hint">{words("onServer")}</p>}
          </div>
          <button
            type="button"
            className="btn"
            onClick={() => void navigator.clipboard.writeText(value.folder).then(() => notify(words("copied")))}
          >
            {words("copyPath")}
          </button>
        </div>
        <div className="list">
          <Row title={words("backup")} hint={words("backupHint")}>
            <button
              type="button"
              className="btn"
              disabled={preparing !== "" || value.isOnServer}
              onClick={() => void save("backup").catch(report)}
            >
              {words(preparing === "backup" ? "preparing" : "backupButton")}
            </button>
          </Row>
          <Row title={words("export")} hint={words("exportHint")}>
            <button
              type="button"
              className="btn"
              disabled={preparing !== ""}
              onClick={() => void save("export").catch(report)}
            >
              {words(preparing === "export" ? "preparing" : "exportButton")}
            </button>
          </Row>
          <Row title={words("deleteAll")} hint={words("deleteAllHint")}>
            <button type="button" className="btn no" disabled={value.isOnServer} onClick={() => setAsking(true)}>
              {words("deleteAllButton")}
            </button>
          </Row>
        </div>
      </section>
      <Requests />
      {isAsking && (
        <Ask
          title={words("deleteAllAsk", { folder: value.folder })}
          button={words("deleteAll")}
          isDisabled={!isRight}
          onConfirm={() => void deleteData(typed).then(() => setDone(true), report)}
          onClose={() => setAsking(false)}
        >
          <p>{words("deleteAllHint")}</p>
          <div className="field">
            <label htmlFor="deletion-words">{words("deleteAllWords", { words: value.deletionWords })}</label>
            <input
              id="deletion-words"
              className="input"
              autoComplete="off"
              value={typed}
              onChange={(event) => setTyped(event.target.value)}
            />
          </div>
        </Ask>
      )}
    </>
  )
}

/** It comes late: a folder of many files is counted for seconds. */
function Size() {
  const words = useWords()
  const locale = useLocale()
  const { value } = useLoaded(getDataSize)
  if (value === null) return <span aria-busy="true">{words("dataMeasuring")}</span>
  const total = value.databaseBytes + value.fileBytes + value.otherBytes
  return (
    <span>
      {words(value.isCut ? "dataSizesCut" : "dataSizes", {
        total: formatBytes(total, locale),
        database: formatBytes(value.databaseBytes, locale),
        files: formatBytes(value.fileBytes, locale),
      })}
    </span>
  )
}

function Row({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  return (
    <div className="item middle">
      <div className="grow">
        <h3>{title}</h3>
        <p className="hint">{hint}</p>
      </div>
      {children}
    </div>
  )
}
