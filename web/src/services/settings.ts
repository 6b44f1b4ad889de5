/** The part of the API that assistants and settings use. A key is sent, and never asked for. */

import { json, segmentOf } from "./api.ts"
import type {
  AssistantDetails,
  AssistantPatch,
  AssistantsAnswer,
  ClientCallsAnswer,
  ClientsAnswer,
  DataAnswer,
  DataSizeAnswer,
  DecisionAnswer,
  DecisionsAnswer,
  DeletedAssistantAnswer,
  LocalServersAnswer,
  ModelsAnswer,
  NewModelBody,
  RequestsAnswer,
  SavedKeyAnswer,
  TryModelAnswer,
} from "../wire/generated.ts"

const at = encodeURIComponent

export const listAssistants = async () => (await json<AssistantsAnswer>("GET", "/api/assistants")).assistants
export const getAssistant = (id: string) => json<AssistantDetails>("GET", `/api/assistants/${at(id)}`)
export const createAssistant = (name: string, copyOf = "") =>
  json<AssistantDetails>("POST", "/api/assistants", { name, copyOf })
export const changeAssistant = (id: string, patch: AssistantPatch) =>
  json<AssistantDetails>("PATCH", `/api/assistants/${at(id)}`, patch)
/** `version` is that of what the person saw when they confirmed. */
export const deleteAssistant = (id: string, version: number) =>
  json<DeletedAssistantAnswer>("DELETE", `/api/assistants/${at(id)}?version=${version}`)

export const listDecisions = async () => (await json<DecisionsAnswer>("GET", "/api/decisions")).decisions
export const forgetDecision = ({ scope, scopeId, tool }: DecisionAnswer) =>
  json<unknown>("DELETE", `/api/decisions?scope=${scope}&scopeId=${at(scopeId)}&tool=${at(tool)}`)

export const listModels = () => json<ModelsAnswer>("GET", "/api/models")
export const addModel = (model: NewModelBody) => json<ModelsAnswer>("POST", "/api/models", model)
export const removeModel = (name: string) => json<unknown>("DELETE", `/api/models/${at(name)}`)
export const setDefaultModel = (name: string) => json<unknown>("POST", "/api/models/default", { name })
export const findLocalServers = async () => (await json<LocalServersAnswer>("POST", "/api/models/look", {})).servers
/** A model that is loaded first may take longer than other answers. */
export const tryModel = (name: string) => json<TryModelAnswer>("POST", "/api/models/try", { name }, 120_000)
export const saveKey = (name: string, key: string) => json<SavedKeyAnswer>("POST", `/api/keys/${at(name)}`, { key })
export const forgetKey = (name: string) => json<unknown>("DELETE", `/api/keys/${at(name)}`)

export const getData = () => json<DataAnswer>("GET", "/api/data")
export const getDataSize = () => json<DataSizeAnswer>("GET", "/api/data/size")
export const deleteData = (words: string) => json<unknown>("POST", "/api/data/delete", { words })
export const listClients = () => json<ClientsAnswer>("GET", "/api/clients")
export const listClientCalls = (sessionId: string, before = 0) =>
  json<ClientCallsAnswer>("GET", `/api/clients/sessions/${segmentOf(sessionId)}?before=${before}`)
export const listRequests = () => json<RequestsAnswer>("GET", "/api/requests")
