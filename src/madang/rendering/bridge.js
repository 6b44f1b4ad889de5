// The one script of every Madang page: it talks to the host around the frame and turns marked-up
// buttons and forms into tool calls. It knows no service; the page says what to call:
//   data-tool, data-args         the tool that a click or a submit calls; its arguments as JSON
//   data-then, data-then-args    the tool called after that, whose page is shown
//   data-message                 what the person has said thereby, for the host's model; with an empty data-tool
//                                this is all, and the button is gone afterwards; hidden until a host takes messages
//   data-done, data-busy         what to tell the person when it is done; what the button says until then
//   template[data-after]         beside the button: what is offered when it is done, in the line that says so
//   data-stale, data-stale-args  the tool called after a refusal, whose page is shown unless it still is a
//                                form; and then data-late is told instead of the refusal
//   data-toggle                  a button that shows the other data-half of its data-swap: a question
//                                before something is done, with this attribute on the safe answer
//   details[data-fill]           the tool that fills its .fill when it is opened for the first time
//   data-download, data-failed   the file that a click saves, and what to say if the host did not; the file
//                                is the text of template[data-file], with data-uri and data-type, or what
//                                its data-read names at the server; with data-as="png" its picture; such
//                                a button is hidden as long as no host has said that it saves files
//   data-copy                    the id of the text that a click copies
//   .problem                     in a form: what is said when a required field is empty
//   time[datetime]               a moment, shown in the reader's time zone; with data-clock its time of day
//   a[href]                      a link without data-tool, which the host opens outside of the frame
//   body[data-refresh-tool]      the tool that fetches what a page opened without data lacks; with the
//                                names of its arguments in data-refresh-args, optional ones with a ?
//   body[data-texts]             the sentences of the script itself, by the code of an error
// Arguments may stand on an ancestor. What a tool tells the model is never shown to the person. It speaks
// MCP Apps (2026-01-26), and the older mcp-ui messages to a host that does not answer. pages.py drops
// whole-line comments and indentation, so no string may go over several lines.
'use strict';
(() => {
  const main = document.getElementById('madang');
  const status = document.getElementById('madang-status');
  const { lang } = document.documentElement;
  const texts = JSON.parse(document.body.dataset.texts);
  const answers = [];
  const taken = new Set();
  let { refreshTool, refreshArgs } = document.body.dataset;
  let apps, toolInput, tip, drawn, lastHeight = 0, underWay = Promise.resolve();

  // A frame with an opaque origin cannot learn its host's origin, so '*' it has to be: whoever embeds
  // the page reads what it sends. Therefore nothing secret is sent, no token and no credentials: only
  // tool names, arguments that the embedder put into the page itself, and what the person typed.
  const post = (message) => window.parent.postMessage(message, '*');
  const rpc = (message) => post({ jsonrpc: '2.0', ...message });

  const fault = (code, isRefusal) => Object.assign(Error(code), { code, isRefusal });

  // The first answer counts: to resolve or reject a promise again does nothing.
  const ask = (send) => new Promise((resolve, reject) => {
    const answer = (error, value) => (error ? reject(fault(error === 'no_answer' ? error : 'failed')) : resolve(value || {}));
    setTimeout(answer, 60000, 'no_answer');
    send(answers.push(answer));
  });
  const request = (method, params) => ask((id) => rpc({ id, method, params }));

  async function call(name, args) {
    await ready;
    const result = await (apps
      ? request('tools/call', { name, arguments: args })
      : ask((id) => post({ type: 'tool', messageId: `${id}`, payload: { toolName: name, params: args } })));
    if (result.isError) throw fault(codeOf(result), true);
    return result;
  }

  const codeOf = ({ structuredContent }) => structuredContent?.error?.code;
  const textOf = (code) => texts[code] || texts.failed;

  function fragmentOf({ _meta, content }) {
    const html = _meta?.['madang/html'];
    if (typeof html === 'string') return html;
    const page = content?.find(({ resource }) => resource?.uri?.startsWith('ui://'))?.resource.text;
    return page && new DOMParser().parseFromString(page, 'text/html').getElementById('madang')?.innerHTML;
  }

  function say(text, kind = '', after = '') {
    status.className = kind;
    status.textContent = text;
    status.append(after);
  }

  function retryButton(task) {
    const button = document.createElement('button');
    button.textContent = texts.retry;
    button.onclick = task;
    return button;
  }

  function show(result) {
    const html = fragmentOf(result);
    if (html != null) draw(html);
    return html != null;
  }

  function draw(html) {
    drawn = html;
    main.innerHTML = html;
    finish(main);
  }

  function finish(place) {
    offer();
    place.querySelectorAll('time').forEach(localize);
  }

  // Instead of a page: a heading, because every page has one and the focus needs a place to go.
  function showState(code, retry) {
    drawn = null;
    main.innerHTML = '<h1 class="state" tabindex="-1"></h1>';
    main.firstChild.textContent = textOf(code);
    if (retry) main.append(retryButton(retry));
  }

  const isBlank = () => !main.firstElementChild || main.querySelector(':scope > .skeleton');

  // What only some hosts can do.
  function offer() {
    const { downloadFile, message } = apps?.hostCapabilities || {};
    for (const button of main.querySelectorAll('[data-download]')) button.hidden = !downloadFile;
    for (const button of main.querySelectorAll('[data-tool=""]')) button.hidden = !message;
  }

  function localize(el) {
    const at = new Date(el.dateTime);
    const format = (options) => new Intl.DateTimeFormat(lang, options).format(at);
    const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
    const days = Math.round((midnight(Date.now()) - midnight(at)) / 864e5);
    el.title = format({ dateStyle: 'long', timeStyle: 'short' });
    if ('clock' in el.dataset) el.textContent = days ? el.title : format({ timeStyle: 'short' });
    else if (days >= 0 && days < 7) el.textContent = new Intl.RelativeTimeFormat(lang, { numeric: 'auto' }).format(-days, 'day');
    else el.textContent = format({ dateStyle: 'medium' });
  }

  const argsOf = (el, name) => JSON.parse(el.closest(`[${name}]`)?.getAttribute(name) || '{}');

  // Without this a keyboard user starts again at the top of the host's window after each action.
  function refocus(keys) {
    const all = [...main.querySelectorAll('button:enabled, a, input, summary'), ...status.children];
    const same = all.find((one) => keys.includes(keyOf(one)));
    if (document.hasFocus()) (same || status.querySelector('button') || main.querySelector('h1'))?.focus();
  }
  const keyOf = (el) => el.id || el.outerHTML;

  // One after the other: what is pressed meanwhile waits, and what is pressed twice is done once.
  function run(task, by) {
    if (by?.ariaBusy) return;
    const keys = by && [document.activeElement, by].map(keyOf);
    if (by) by.ariaBusy = true;
    underWay = underWay.then(() => perform(task, by, keys));
  }

  async function perform(task, by, keys) {
    main.ariaBusy = true;
    const held = document.querySelectorAll('button:enabled');
    for (const button of held) button.disabled = true;
    const label = by?.dataset.busy && by.textContent;
    if (label) by.textContent = by.dataset.busy;
    say('');
    await task().catch(({ code, isRefusal }) => {
      const again = () => run(task, by);
      if (isBlank()) showState(code, again);
      else say(textOf(code), 'error', isRefusal ? '' : retryButton(again));
    });
    if (by) by.ariaBusy = null;
    if (label) by.textContent = label;
    for (const button of held) button.disabled = false;
    main.ariaBusy = null;
    if (by) refocus(keys);
  }

  const act = (el, by, fields) => run(async () => {
    const { tool, then, message, done } = el.dataset;
    const after = by.parentElement?.querySelector('template[data-after]')?.content.cloneNode(true);
    const tell = () => request('ui/message', { role: 'user', content: [{ type: 'text', text: message }] });
    if (!tool) {
      if ((await tell()).isError) throw fault();
      by.remove();
      return say(done);
    }
    const result = await call(tool, { ...argsOf(el, 'data-args'), ...fields }).catch((error) => refused(el, error));
    if (!result) return;
    if (message && apps?.hostCapabilities?.message) tell().catch(() => {});
    const shown = show(result);
    // It is done, whatever becomes of the page.
    if (then) await call(then, argsOf(el, 'data-then-args')).then(show, () => {});
    if (done || !(shown || then)) say(done || texts.done, '', after);
  }, by);

  // A refusal may mean that what is on screen is out of date. A form that is still open stays as it is, or
  // what the person typed would be gone.
  async function refused(el, error) {
    const { stale, late } = el.closest('[data-stale]')?.dataset || {};
    if (!stale || !error.isRefusal) throw error;
    const html = fragmentOf(await call(stale, argsOf(el, 'data-stale-args')).catch(() => ({})));
    if (html == null || (el.closest('form') && html.includes('<form'))) throw error;
    draw(html);
    say(late || textOf(error.code), 'error');
  }

  // The sandbox blocks downloads, so the host saves the file. That it did not may be the person's own wish.
  const download = (by) => run(async () => {
    const { content, dataset: { uri, type, read } } = main.querySelector(`template[data-file="${by.dataset.download}"]`);
    let resource = { uri, mimeType: type };
    let file = { type: 'resource' };
    if (by.dataset.as) {
      resource = { uri: uri.replace(/svg$/, 'png'), mimeType: 'image/png', blob: await rasterize(content.textContent) };
    } else if (!read) {
      // HTML knows one line end, CSV another.
      resource.text = content.textContent.replaceAll('\n', type === 'text/csv' ? '\r\n' : '\n');
    } else if (apps.hostCapabilities.serverResources) {
      resource.blob = (await request('resources/read', { uri: read })).contents[0].blob;
    } else {
      // A host that does not let pages read may still read for itself.
      file = { type: 'resource_link', uri: read, name: uri.split('/').pop(), mimeType: type };
    }
    if (file.type === 'resource') file.resource = resource;
    const { isError } = await request('ui/download-file', { contents: [file] });
    if (isError) say(by.dataset.failed);
  }, by);

  // Twice as large as it is drawn, for screens and printers that show it.
  async function rasterize(svg) {
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = 2 * image.naturalWidth;
    canvas.height = 2 * image.naturalHeight;
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL('image/png').split(',')[1];
  }

  const follow = (by) => run(async () => {
    const { href: url } = by;
    await ready;
    if (apps) await request('ui/open-link', { url });
    else post({ type: 'link', payload: { url } });
  }, by);

  // The text stays selected: where the frame may not copy, the person's own keys do.
  function copy({ dataset }) {
    getSelection().selectAllChildren(document.getElementById(dataset.copy));
    if (document.execCommand('copy')) say(texts.copied);
  }

  function toggle(by) {
    for (const half of by.closest('[data-swap]').querySelectorAll('[data-half]')) {
      half.hidden = !half.hidden;
      if (!half.hidden) half.querySelector('[data-toggle]').focus();
    }
  }

  // The browser's own bubbles speak its language, not the page's.
  function isComplete(form) {
    const missing = [...form.querySelectorAll('[required]')].find(({ validity, value }) => validity.valueMissing || !value.trim());
    markProblem(form, missing);
    missing?.focus();
    return !missing;
  }

  function markProblem(form, missing) {
    const problem = form.querySelector('.problem');
    if (!problem) return;
    problem.hidden = !missing;
    for (const field of form.querySelectorAll('[required]')) {
      field.toggleAttribute('data-wrong', !!missing);
      if (missing) field.setAttribute('aria-describedby', problem.id);
      else field.removeAttribute('aria-describedby');
    }
  }

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
    if (by?.dataset.copy) return copy(by);
    if (by && 'toggle' in by.dataset) return toggle(by);
    if (by?.href && !by.dataset.tool) {
      event.preventDefault();
      return follow(by);
    }
    const el = by?.closest('[data-tool]');
    const isForm = el?.localName === 'form';
    if (!el || (isForm && by.type !== 'submit')) return;
    event.preventDefault();
    if (!isForm || isComplete(el)) act(el, by, isForm && fieldsOf(el, by));
  });

  // The host's, for a press that the browser gave to the frame around the page.
  function press({ x, y }) {
    const el = document.elementFromPoint(x, y)?.closest('button, a, input, textarea, select, summary, label, [data-tool]');
    el?.focus();
    el?.click();
  }

  addEventListener('input', ({ target }) => target.form && markProblem(target.form));

  addEventListener('keydown', ({ key, ctrlKey, metaKey, isComposing, target }) => {
    if (key === 'Enter' && (ctrlKey || metaKey) && !isComposing) target.form?.querySelector('[type=submit]')?.click();
    const half = key === 'Escape' && target.closest('[data-half]');
    if (half && half.hasAttribute('data-question')) toggle(half);
  });

  addEventListener('toggle', ({ target: el }) => {
    const place = el.open && el.dataset.fill && el.querySelector('.fill:empty');
    if (!place) return;
    place.innerHTML = '<div class="skeleton"><i></i><i></i><i></i></div>';
    call(el.dataset.fill, argsOf(el, 'data-args')).catch((error) => refused(el, error)).then((result) => {
      place.innerHTML = (result && fragmentOf(result)) ?? '';
      finish(place);
    }).catch(({ code }) => {
      place.innerHTML = '';
      el.open = false;
      say(textOf(code), 'error');
    });
  }, true);

  // A card at the pointer in place of the browser's tooltip, which comes late and in its own look.
  function hint({ target, clientX, clientY }) {
    const title = target.closest?.('svg') && target.querySelector(':scope > title');
    if (title) {
      target.dataset.tip = title.textContent;
      title.remove();
    }
    const text = target.dataset?.tip;
    if (!text && !tip) return;
    tip ||= document.body.appendChild(document.createElement('div'));
    tip.className = 'tip';
    tip.hidden = !text;
    tip.textContent = text || '';
    tip.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.max(4, clientY - tip.offsetHeight - 10)}px`;
  }
  addEventListener('pointermove', hint);
  addEventListener('pointerdown', hint);
  document.documentElement.addEventListener('pointerleave', () => tip && (tip.hidden = true));

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
    const { isError, structuredContent: data } = result;
    const html = isError ? null : fragmentOf(result);
    // The same page again stays: drawn anew, it would lose what was typed, and a button between press and release.
    if (html != null) return html === drawn || draw(html);
    const args = tool && (argsFrom(toolInput) || argsFrom({ page: 1, ...data, ...data?.page }));
    const fill = args && (() => run(async () => show(await call(tool, args)) || showState('nothing')));
    if (isError && !isBlank()) say(textOf(codeOf(result)), 'error');
    else if (isError) showState(codeOf(result), fill);
    else if (fill) fill();
    else if (isBlank()) showState('nothing');
  }

  // What the refresh tool takes, or nothing when something is missing that it needs.
  function argsFrom(facts) {
    const args = {};
    for (const name of refreshArgs.split(' ').filter(Boolean)) {
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
    else if (type === 'ui-message-received') taken.add(messageId - 1);
    else if (!jsonrpc) return;
    else if (!method) answers[id - 1]?.(error, result);
    else if (method === 'ui/notifications/tool-input') toolInput = params.arguments;
    else if (method === 'ui/notifications/tool-result') onToolResult(params);
    else if (method === 'ui/notifications/tool-cancelled') onToolResult({ isError: true });
    else if (method === 'ui/notifications/host-context-changed') applyContext(params);
    else if (method === 'ping' || method === 'ui/resource-teardown') rpc({ id, result: {} });
    else if (method === 'madang/press') {
      press(params);
      rpc({ id, result: {} });
    }
    else if (id != null) rpc({ id, error: { code: -32601, message: 'Method not found' } });
  });

  // The height of the content, never of the window: a host that obeys would be told again and again.
  function reportSize() {
    const size = { width: innerWidth, height: Math.ceil(document.body.getBoundingClientRect().bottom + scrollY) };
    if (Math.abs(size.height - lastHeight) < 4) return;
    lastHeight = size.height;
    if (apps) rpc({ method: 'ui/notifications/size-changed', params: size });
    else post({ type: 'ui-size-change', payload: size });
  }

  function startApps(answer) {
    apps = answer;
    // What was asked the old way gets no answer now, unless the host has said that it took it; saying so beats a
    // minute of dead buttons. All that it had to say of this has come once it answers another question.
    const asked = [...answers];
    const giveUp = () => asked.forEach((answer, at) => taken.has(at) || answer('no_answer'));
    if (asked.length > 1) request('ping').then(giveUp, giveUp);
    applyContext(apps.hostContext);
    offer();
    rpc({ method: 'ui/notifications/initialized' });
    lastHeight = 0;
    reportSize();
  }

  finish(main);
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
