/** The outer frame of a page: the sandbox proxy on the content origin, and the one port that is handed to it. */

export interface MountedFrame {
  frame: HTMLIFrameElement
  unmount(): void
}

const isHello = (data: unknown) =>
  typeof data === "object" && data !== null && "type" in data && data.type === "madang/proxy-hello"

/**
 * Put a proxy into an element. `onPort` gets the host's end once the proxy, and nobody else, has asked for it; `onPress`
 * a press that the browser gave to the frame and not to what is in it, by its place there.
 */
export function mountFrame(
  parent: HTMLElement,
  contentOrigin: string,
  viewId: string,
  title: string,
  onPort: (port: MessagePort) => void,
  onPress: (x: number, y: number) => void,
): MountedFrame {
  const frame = document.createElement("iframe")
  frame.title = title
  // Same-origin with the content origin, which holds nothing but the proxy; the page itself is in an opaque inner frame.
  frame.sandbox.add("allow-scripts", "allow-same-origin")
  frame.referrerPolicy = "no-referrer"

  const onMessage = ({ source, origin, data }: MessageEvent<unknown>) => {
    if (source !== frame.contentWindow || origin !== contentOrigin || !isHello(data)) return
    window.removeEventListener("message", onMessage)
    const { port1, port2 } = new MessageChannel()
    frame.contentWindow?.postMessage({ type: "madang/port" }, contentOrigin, [port2])
    onPort(port1)
  }
  window.addEventListener("message", onMessage)
  // A browser finds a frame of another process by what was drawn of it last: of a tab that is not in front, or a frame
  // that is only just there, that may be nothing. The release may go to the page again, so no click comes of both.
  frame.addEventListener("mousedown", ({ button, offsetX, offsetY }) => button === 0 && onPress(offsetX, offsetY))
  // By the id of the view the proxy gets its policy, from the server: nothing of it is ours to choose here.
  frame.src = `${contentOrigin}/proxy?view=${encodeURIComponent(viewId)}`
  parent.append(frame)
  return {
    frame,
    unmount() {
      window.removeEventListener("message", onMessage)
      frame.remove()
    },
  }
}
