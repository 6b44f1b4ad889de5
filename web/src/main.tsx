/** Start the application in the page's root. */

import { createRoot } from "react-dom/client"

import { start } from "./services/app.ts"
import { App } from "./views/App.tsx"

createRoot(document.getElementById("root")!).render(<App />)
void start()
