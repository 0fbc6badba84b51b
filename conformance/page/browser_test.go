package page

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var (
	chromium = flag.String("chromium", "", "path of a Chromium; without it the tests of this package are skipped")
	slow     = flag.Float64("slow", 1, "TestLarge: the browser is so many times slower")
	pictures = flag.String("pictures", "", "folder for pictures of the pages")
)

// tab is a page in the browser with what went wrong in it.
type tab struct {
	t    *testing.T
	ctx  context.Context
	file string
	lock sync.Mutex
	bad  []string
}

// open opens a file in a browser of its own, in a window of some size. before runs before the file is opened.
func open(t *testing.T, html string, width, height int, before func(*tab)) *tab {
	t.Helper()
	if *chromium == "" {
		t.Skip("needs a browser: -args -chromium /usr/bin/chromium")
	}
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(file, []byte(html), 0o600))
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(*chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WindowSize(width, height))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, file: file}
	b.do() // starts the browser
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	send(b, network.Enable, network.EnableParams{})
	send(b, log.Enable, cdp.Empty{})
	send(b, runtime.Enable, cdp.Empty{})
	const watch = `window.slow = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => window.slow.push(e.duration))).observe({type: "longtask", buffered: true});`
	send(b, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: watch})
	if before != nil {
		before(b)
	}
	b.do(chromedp.Navigate("file://" + file))
	return b
}

// send sends a command of the protocol.
func send[P, R any](b *tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	out, err := chromedp.Call(b.ctx, c, params)
	require.NoError(b.t, err)
	return out
}

// hear keeps errors, dialogs, and requests for anything but the file.
func (b *tab) hear(event any) {
	bad := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		bad = "exception: " + e.ExceptionDetails.Text
	case *log.EventEntryAdded:
		bad = "log: " + e.Entry.Text
	case *runtime.EventConsoleAPICalled:
		bad = fmt.Sprintf("console.%s", e.Type)
	case *cdppage.EventJavascriptDialogOpening:
		bad = "dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; u != "file://"+b.file && !strings.HasPrefix(u, "data:") {
			bad = "request: " + u
		}
	}
	if bad != "" {
		b.lock.Lock()
		b.bad = append(b.bad, bad)
		b.lock.Unlock()
	}
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// quiet fails the test when something went wrong in the page.
func (b *tab) quiet() {
	b.t.Helper()
	b.lock.Lock()
	defer b.lock.Unlock()
	require.Empty(b.t, b.bad)
}

// eval returns what an expression is in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return out
}

// call runs a statement in the page.
func (b *tab) call(statement string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](statement))
}

// settled waits until the page has drawn what is due.
func (b *tab) settled() {
	b.t.Helper()
	eval[bool](b, `new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true))), 150))`)
}

func (b *tab) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(*pictures, name+".png"), png, 0o644))
}

// interactive are the roles of things that people use.
var interactive = map[string]bool{"button": true, "link": true, "searchbox": true, "textbox": true, "combobox": true, "option": true, "DisclosureTriangle": true, "listbox": true, "checkbox": true, "menuitem": true}

// tree returns the accessibility tree as lines "ROLE: NAME", without nodes that are ignored.
func (b *tab) tree() (out []string, focusable int) {
	b.t.Helper()
	nodes := send(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		var text string
		if json.Unmarshal(v.Value, &text) != nil {
			return string(v.Value)
		}
		return text
	}
	for _, n := range nodes {
		if n.Ignored {
			continue
		}
		role, name := text(n.Role), text(n.Name)
		takes := false
		for _, p := range n.Properties {
			takes = takes || p.Name == accessibility.PropertyNameFocusable && string(p.Value.Value) == "true"
		}
		if interactive[role] || takes && role != "RootWebArea" {
			focusable++
			require.NotEmpty(b.t, name, "a %s without a name", role)
			require.NotContains(b.t, []string{"", "generic", "none"}, role, "%s takes the focus and has no role", name)
		}
		out = append(out, role+": "+name)
	}
	return out, focusable
}
