// The one script of every Madang page: it talks to the host around the frame and turns marked-up
// buttons and forms into tool calls. It knows no service; the page says what to call:
//   data-tool, data-args         the tool that a click or a submit calls; its arguments as JSON
//   data-then, data-then-args    the tool called after that, whose page is shown
//   data-message                 what the person has said thereby, for the host's model
//   data-done                    what to tell the person when it is done
//   data-stale, data-stale-args  the tool called after a refusal, whose page is shown unless it still is a
//                                form; and then data-late is told instead of the refusal
//   data-download, data-failed   the file that a click saves, and what to say if the host did not; the file
//                                is the text of template[data-file], with data-uri and data-type, or what
//                                its data-read names at the server; such a button is hidden as long as no
//                                host has said that it saves files
//   a[href]                      a link without data-tool, which the host opens outside of the frame
//   body[data-refresh-tool]      the tool that fetches what a page opened without data lacks; with the
//                                names of its arguments in data-refresh-args, optional ones with a ?
// Arguments may stand on an ancestor. It speaks MCP Apps (2026-01-26), and the older mcp-ui messages
// to a host that does not answer. pages.py drops whole-line comments and indentation, so no string
// may go over several lines.
'use strict';
(() => {
  const main = document.getElementById('madang');
  const status = document.getElementById('madang-status');
  const answers = [];
  let { refreshTool, refreshArgs, noAnswer } = document.body.dataset;
  let apps, toolInput, lastHeight = 0;

  // A frame with an opaque origin cannot learn its host's origin, so '*' it has to be: whoever embeds
  // the page reads what it sends. Therefore nothing secret is sent, no token and no credentials: only
  // tool names, arguments that the embedder put into the page itself, and what the person typed.
  const post = (message) => window.parent.postMessage(message, '*');
  const rpc = (message) => post({ jsonrpc: '2.0', ...message });

  // The first answer counts: to resolve or reject a promise again does nothing.
  const ask = (send) => new Promise((resolve, reject) => {
    const answer = (error, value) => (error ? reject(Error(error.message || error)) : resolve(value || {}));
    setTimeout(answer, 60000, noAnswer);
    send(answers.push(answer));
  });
  const request = (method, params) => ask((id) => rpc({ id, method, params }));

  async function call(name, args) {
    await ready;
    const result = await (apps
      ? request('tools/call', { name, arguments: args })
      : ask((id) => post({ type: 'tool', messageId: `${id}`, payload: { toolName: name, params: args } })));
    if (result.isError) throw Object.assign(Error(textOf(result) || noAnswer), { isRefusal: true });
    return result;
  }

  // "[tool_name] " in front is for models.
  const textOf = ({ content }) => content?.[0]?.text?.replace(/^\[\w+\] /, '') || '';

  function fragmentOf({ _meta, content }) {
    const html = _meta?.['madang/html'];
    if (typeof html === 'string') return html;
    const page = content?.find(({ resource }) => resource?.uri?.startsWith('ui://'))?.resource.text;
    return page && new DOMParser().parseFromString(page, 'text/html').getElementById('madang')?.innerHTML;
  }

  function say(text, kind = '') {
    status.className = kind;
    status.textContent = text;
  }

  // With `orText`, what is on screen is out of date (the last row was deleted, say), so that a result
  // without a page replaces it as text.
  function show(result, orText) {
    const html = fragmentOf(result);
    const text = orText && textOf(result);
    if (html != null) main.innerHTML = html;
    else if (text) showText(text);
    offerFiles();
    return html != null;
  }

  // Its first line is a heading, because every page has one and the focus needs a place to go.
  function showText(text) {
    const [first, ...rest] = text.split('\n');
    main.innerHTML = '<h1 tabindex="-1" dir="auto"></h1><p class="lines" dir="auto"></p>';
    main.firstChild.textContent = first;
    main.lastChild.textContent = rest.join('\n').trim();
  }

  function offerFiles() {
    const canSave = apps?.hostCapabilities?.downloadFile;
    for (const button of main.querySelectorAll('[data-download]')) button.hidden = !canSave;
  }

  const argsOf = (el, name) => JSON.parse(el.closest(`[${name}]`)?.getAttribute(name) || '{}');

  // Without this a keyboard user starts again at the top of the host's window after each action.
  function refocus(by) {
    const key = (one) => one.id || one.outerHTML;
    const same = [...main.querySelectorAll('button:enabled')].find((one) => key(one) === key(by));
    if (document.hasFocus()) (same || main.querySelector('h1'))?.focus();
  }

  async function run(task, by) {
    if (main.ariaBusy) return;
    main.ariaBusy = true;
    const held = main.querySelectorAll('button:enabled');
    for (const button of held) button.disabled = true;
    say('');
    await task().catch((error) => say(error.message, 'error'));
    for (const button of held) button.disabled = false;
    main.ariaBusy = null;
    if (by) refocus(by);
  }

  const act = (el, by, fields) => run(async () => {
    const { tool, then, message, done } = el.dataset;
    const result = await call(tool, { ...argsOf(el, 'data-args'), ...fields }).catch((error) => refused(el, error));
    if (!result) return;
    const shown = show(result);
    if (then) show(await call(then, argsOf(el, 'data-then-args')), true);
    if (done || !(shown || then)) say(done || textOf(result));
    if (!message || !apps?.hostCapabilities?.message) return;
    request('ui/message', { role: 'user', content: [{ type: 'text', text: message }] }).catch(() => {});
  }, by);

  // A refusal may mean that what is on screen is out of date. A form that is still open stays as it is, or
  // what the person typed would be gone.
  async function refused(el, error) {
    const { stale, late } = el.closest('[data-stale]')?.dataset || {};
    if (!stale || !error.isRefusal) throw error;
    const html = fragmentOf(await call(stale, argsOf(el, 'data-stale-args')).catch(() => ({})));
    if (html == null || html.includes('<form')) throw error;
    main.innerHTML = html;
    say(late, 'error');
  }

  // The sandbox blocks downloads, so the host saves the file. That it did not may be the person's own wish.
  const download = (by) => run(async () => {
    const { content, dataset: { uri, type, read } } = main.querySelector(`template[data-file="${by.dataset.download}"]`);
    const resource = { uri, mimeType: type };
    let file = { type: 'resource', resource };
    if (!read) {
      // HTML knows one line end, CSV another.
      resource.text = content.textContent.replaceAll('\n', type === 'text/csv' ? '\r\n' : '\n');
    } else if (apps.hostCapabilities.serverResources) {
      resource.blob = (await request('resources/read', { uri: read })).contents[0].blob;
    } else {
      // A host that does not let pages read may still read for itself.
      file = { type: 'resource_link', uri: read, name: uri.split('/').pop(), mimeType: type };
    }
    const { isError } = await request('ui/download-file', { contents: [file] });
    if (isError) say(by.dataset.failed);
  }, by);

  const follow = ({ href: url }) => run(async () => {
    await ready;
    if (apps) await request('ui/open-link', { url });
    else post({ type: 'link', payload: { url } });
  });

  // A group of checkboxes is a list, also when one or none of them is ticked.
  function fieldsOf(form, by) {
    const fields = {};
    for (const box of form.querySelectorAll('[type=checkbox]')) fields[box.name] = [];
    for (const [name, value] of new FormData(form, by)) fields[name] = fields[name]?.concat(value) ?? value;
    return fields;
  }

  // No submit event: it does not come in a sandbox without allow-forms. The click on the form's
  // button does, also when the person pressed Enter in a field.
  addEventListener('click', (event) => {
    const by = event.target.closest('button, a, [data-tool]');
    if (by?.dataset.download) return download(by);
    if (by?.href && !by.dataset.tool) {
      event.preventDefault();
      return follow(by);
    }
    const el = by?.closest('[data-tool]');
    const isForm = el?.localName === 'form';
    if (!el || (isForm && by.type !== 'submit')) return;
    event.preventDefault();
    if (!isForm || el.reportValidity()) act(el, by, isForm && fieldsOf(el, by));
  });

  function applyContext({ theme, styles } = {}) {
    const { dataset, style } = document.documentElement;
    if (theme) dataset.theme = style.colorScheme = theme;
    for (const [name, value] of Object.entries(styles?.variables || {})) style.setProperty(name, value ?? '');
  }

  // Some hosts replay a view with an empty result, and some strip _meta. Only the first result may
  // lead to a call, or a host that answers every call with a notification would never come to rest.
  function onToolResult(result) {
    const tool = refreshTool;
    refreshTool = '';
    const data = result.structuredContent;
    if (result.isError) say(textOf(result), 'error');
    else if (!show(result)) {
      const args = tool && (argsFrom(toolInput) || argsFrom({ page: 1, ...data, ...data?.page }));
      if (args) run(async () => show(await call(tool, args), true));
      else if (!main.firstElementChild) show(result, true);
    }
  }

  // What the refresh tool takes, or nothing when something is missing that it needs.
  function argsFrom(facts) {
    const args = {};
    for (const name of refreshArgs.split(' ')) {
      const key = name.replace('?', '');
      if (facts?.[key] != null) args[key] = facts[key];
      else if (key === name) return;
    }
    return args;
  }

  // Any window can post to this one; only the embedder may change what the person sees.
  addEventListener('message', ({ source, data }) => {
    if (source !== window.parent) return;
    const { jsonrpc, id, method, params = {}, result, type, messageId, response, error } = { ...data, ...data?.payload };
    if (type === 'ui-message-response') answers[messageId - 1]?.(error, response);
    else if (!jsonrpc) return;
    else if (!method) answers[id - 1]?.(error, result);
    else if (method === 'ui/notifications/tool-input') toolInput = params.arguments;
    else if (method === 'ui/notifications/tool-result') onToolResult(params);
    else if (method === 'ui/notifications/host-context-changed') applyContext(params);
    else if (method === 'ping' || method === 'ui/resource-teardown') rpc({ id, result: {} });
    else if (id != null) rpc({ id, error: { code: -32601, message: 'Method not found' } });
  });

  // The height of the content, never of the window: a host that obeys would be told again and again.
  function reportSize() {
    const size = { width: innerWidth, height: Math.ceil(main.getBoundingClientRect().bottom + scrollY) };
    if (Math.abs(size.height - lastHeight) < 4) return;
    lastHeight = size.height;
    if (apps) rpc({ method: 'ui/notifications/size-changed', params: size });
    else post({ type: 'ui-size-change', payload: size });
  }

  function startApps(answer) {
    apps = answer;
    // What was asked the old way gets no answer now; saying so beats a minute of dead buttons.
    for (const fail of answers) fail(noAnswer);
    applyContext(apps.hostContext);
    offerFiles();
    rpc({ method: 'ui/notifications/initialized' });
    lastHeight = 0;
    reportSize();
  }

  const ready = new Promise((resolve) => {
    request('ui/initialize', {
      appInfo: { name: 'madang', version: '1' },
      appCapabilities: {},
      protocolVersion: '2026-01-26',
    }).then(startApps).then(resolve, resolve);
    setTimeout(resolve, 500);
  }).then(() => {
    if (!apps) post({ type: 'ui-lifecycle-iframe-ready' });
    new ResizeObserver(reportSize).observe(document.body);
  });
})();
