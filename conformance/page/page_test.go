package page

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/shell"
	"github.com/podberth/podberth/tools/taints"
)

const shipped = "../../examples/testdata/cluster.yaml"

// answers are the programs that write pages, on the shipped cluster.
var answers = map[string]struct {
	run  func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int
	args string
	has  []string // lines of the accessibility tree
}{
	"place": {place.Run, "", []string{"heading: Where the waiting pods go", "heading: Why it waits", "heading: Do", "heading: What keeps it off nodes", "combobox: Groups", "option: by pool",
		"button: general-a1, zone eu-1a, pool general, cpu 98 %, memory 41 %, pods 7 %, rejects the pod"}},
	"why": {place.Run, "-explain shop/api-6d4b75cb6d-fs8m2", []string{"heading: Why shop/api-6d4b75cb6d-fs8m2", "heading: Verdict by node: 6 of 12 nodes can take it"}},
	"drain": {drain.Run, "-ignore-daemonsets -delete-emptydir-data -force general-a1 general-b1", []string{"heading: Waves of the drain", "region: Waves of the drain",
		"button: batch/report-jmqtx: leaves general-a1 in wave 1; its place is taken on general-a2"}},
	"taints": {taints.Run, "-stop general-a1 -admit", []string{"heading: What happens when",
		"button: shop/api-6d4b75cb6d-fs8m2: waits from 55s until 5m55s; 5m55s: evicted, node.kubernetes.io/unreachable:NoExecute: time is up; stays Terminating while the kubelet is silent"}},
	"rollout": {rollout.Run, "-ignore-daemonsets -delete-emptydir-data -force -surge 1 -start 20s -renew 4m", []string{"heading: Steps of the rollout", "button: general-a1-surge-1: surge from 0s to 4m0s; retire from 27m30s to 28m0s"}},
}

func answer(t *testing.T, name string) string {
	t.Helper()
	a := answers[name]
	var out, errs bytes.Buffer
	require.Zero(t, a.run(t.Context(), append([]string{"-f", shipped, "-o", "html"}, strings.Fields(a.args)...), nil, &out, &errs), errs.String())
	return out.String()
}

// Every page has its landmarks and headings, everything that people use has a role and a name, nothing goes wrong and nothing is
// loaded.
func TestPages(t *testing.T) {
	for name, a := range answers {
		t.Run(name, func(t *testing.T) {
			b := open(t, answer(t, name), 1400, 1000, nil)
			b.settled()
			b.picture(name + "-light")
			lines, focusable := b.tree()
			for _, want := range append([]string{"banner: ", "main: ", "contentinfo: ", "search: Pods and nodes", "searchbox: Search", "combobox: Zone", "region: Pods", "region: Nodes by zone",
				"list: Pods", "list: Nodes by zone", "heading: Zone eu-1a, 4 nodes"}, a.has...) {
				require.Contains(t, lines, want)
			}
			require.Greater(t, focusable, 15)
			b.quiet()
		})
	}
}

// A name in a command is one word of a shell, as package shell writes it.
func TestShellWords(t *testing.T) {
	b := open(t, answer(t, "place"), 1400, 1000, nil)
	for _, c := range []struct{ text, word string }{{"data/postgres-3", "data/postgres-3"}, {"a; reboot", "'a; reboot'"}, {"it's", `'it'\''s'`}, {"", "''"}} {
		require.Equal(t, c.word, shell.Words(c.text))
		require.Equal(t, c.word, eval[string](b, fmt.Sprintf("shellWord(%q)", c.text)))
	}
}

// A pod that is chosen shows what every plugin says about every node, on the map too; a node shows its pods.
func TestChoosing(t *testing.T) {
	b := open(t, answer(t, "place"), 1400, 1000, nil)
	b.do(chromedp.SendKeys("#search", "postgres-3"))
	b.settled()
	require.Equal(t, "1 of 81 pods, 0 of 12 nodes", eval[string](b, `found.textContent`))
	b.do(chromedp.Click(`#pods li button`))
	require.Equal(t, "Pod data/postgres-3", eval[string](b, `document.getElementById("detail-title").textContent`))
	require.Equal(t, "Pod data/postgres-3: Unschedulable, 0 of 12 nodes can take it", eval[string](b, `said.textContent`))
	require.Equal(t, 12, eval[int](b, `Number(document.querySelector("#detail .rows li").getAttribute("aria-setsize"))`))
	require.Contains(t, eval[string](b, `document.querySelector("#detail .rows li button").getAttribute("aria-label")`), "rejected, InterPodAffinity")
	b.call(`search.value = ""; search.dispatchEvent(new Event("input"))`)
	b.settled()
	require.Equal(t, 12, eval[int](b, `[...document.querySelectorAll("#map button")].filter((x) => x.textContent.startsWith("✕")).length`))
	b.call(`search.value = "web-6d4b75cb6d-q6kxd"; search.dispatchEvent(new Event("input"))`)
	b.settled()
	b.do(chromedp.Click(`#pods li button`))
	require.Contains(t, eval[string](b, `shown.textContent`), "Skew: DoNotSchedule over topology.kubernetes.io/zone, maxSkew 1")
	require.Equal(t, []string{"eu-1a", "eu-1b", "eu-1c"}, eval[[]string](b, `[...document.querySelectorAll("#detail .small li")].slice(0, 3).map((x) => x.textContent.split(":")[0])`))
	b.call(`search.value = "postgres-3"; search.dispatchEvent(new Event("input"))`)
	b.settled()
	b.do(chromedp.Click(`#pods li button`))
	b.call(`search.value = ""; search.dispatchEvent(new Event("input"))`)
	b.settled()
	b.do(chromedp.Click(`#map button`))
	require.Contains(t, eval[string](b, `shown.textContent`), "Verdict about data/postgres-3")
	require.NotEmpty(t, eval[string](b, `document.querySelector("#detail .scroll li button").textContent`))

	b = open(t, answer(t, "why"), 1400, 1000, nil)
	b.settled()
	widths := eval[[]float64](b, `[...document.querySelectorAll("#detail .rows li:first-child .bar i")].map((x) => x.getBoundingClientRect().width)`)
	require.Len(t, widths, 6, "a part for each plugin")
	require.Greater(t, widths[0], 50.0)
	require.Contains(t, eval[string](b, `document.querySelector("#detail .rows li button").getAttribute("aria-label")`), "can take it, total 635: TaintToleration 300, ")
	b.quiet()
}

// Without a mouse: / goes to the search, Tab to the lists, arrows through them, Enter chooses.
func TestKeyboard(t *testing.T) {
	b := open(t, answer(t, "place"), 1400, 1000, nil)
	b.settled()
	b.do(chromedp.KeyEvent("/"))
	require.Equal(t, "search", eval[string](b, `document.activeElement.id`))
	for range 5 {
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	require.Equal(t, "Pods", eval[string](b, `document.activeElement.closest("ul").getAttribute("aria-label")`))
	place := `Number(document.activeElement.closest("li").getAttribute("aria-posinset"))`
	require.Equal(t, 1, eval[int](b, place))
	for range 3 {
		b.do(chromedp.KeyEvent(kb.ArrowDown))
	}
	require.Equal(t, 4, eval[int](b, place))
	b.do(chromedp.KeyEvent(kb.End))
	require.Equal(t, 81, eval[int](b, place))
	require.Equal(t, true, eval[bool](b, `(() => { const a = document.activeElement.getBoundingClientRect(), s = document.querySelector("#pods .scroll").getBoundingClientRect(); return a.top >= s.top && a.bottom <= s.bottom + 1; })()`), "it is visible")
	name := eval[string](b, `document.activeElement.querySelector(".one").textContent`)
	b.do(chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "Pod "+name, eval[string](b, `document.getElementById("detail-title").textContent`))
	require.Equal(t, 81, eval[int](b, place), "the focus stays")
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Nodes by zone", eval[string](b, `document.activeElement.closest("ul").getAttribute("aria-label")`))
	first := eval[string](b, `document.activeElement.textContent`)
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowLeft))
	require.Equal(t, first, eval[string](b, `document.activeElement.textContent`))
	b.quiet()
}

// contrasts returns the least contrast of texts with what is behind them, as WCAG measures it.
const contrasts = `(() => {
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const colour = (text) => { const n = text.match(/[\d.]+/g).map(Number); return n.length === 4 && n[3] === 0 ? null : n.slice(0, 3); };
  let least = 99, which = "";
  for (const e of document.querySelectorAll("h1,h2,h3,p,dt,dd,label,li,button,span,select,input,output,summary")) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    let back = null;
    for (let x = e; x && !back; x = x.parentElement) back = colour(getComputedStyle(x).backgroundColor);
    const [a, b] = [light(colour(getComputedStyle(e).color)), light(back || [255, 255, 255])];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) { least = ratio; which = e.tagName + "." + e.className + " " + e.textContent.slice(0, 40); }
  }
  return JSON.stringify({least, which});
})()`

// Texts can be read in light and dark, and at 800 and 400 pixels nothing is wider than the window.
func TestLooks(t *testing.T) {
	for _, scheme := range []string{"light", "dark"} {
		b := open(t, answer(t, "why"), 800, 1600, func(b *tab) {
			send(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		})
		b.settled()
		b.picture("why-800-" + scheme)
		back := eval[string](b, `getComputedStyle(document.body).backgroundColor`)
		require.Equal(t, map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}[scheme], back)
		var worst struct {
			Least float64
			Which string
		}
		require.NoError(t, json.Unmarshal([]byte(eval[string](b, contrasts)), &worst))
		require.GreaterOrEqual(t, worst.Least, 4.5, "%s: %s", scheme, worst.Which)
		for _, width := range []int64{1400, 800, 400} {
			b.do(chromedp.EmulateViewport(width, 1000))
			b.settled()
			require.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), width)
		}
		b.quiet()
	}
}

// On paper lists have their rows one below the other, and the text is there. Afterwards the lists scroll again.
func TestPrint(t *testing.T) {
	b := open(t, answer(t, "place"), 1400, 1000, nil)
	b.settled()
	b.call(`addEventListener("beforeprint", () => { window.printed = document.querySelectorAll("#pods li").length; window.open = document.getElementById("text").open; })`)
	pdf := send(b, cdppage.PrintToPDF, cdppage.PrintToPDFParams{}).Data
	require.Equal(t, "%PDF", string(pdf[:4]))
	require.Greater(t, bytes.Count(pdf, []byte("/Type /Page\n"))+bytes.Count(pdf, []byte("/Type /Page ")), 3, "pages")
	require.Equal(t, 81, eval[int](b, `window.printed`))
	require.True(t, eval[bool](b, `window.open`))
	b.settled()
	require.Less(t, eval[int](b, `document.querySelectorAll("#pods li").length`), 40)
	b.quiet()
}

// Without scripts the answer is there as text.
func TestWithoutScripts(t *testing.T) {
	b := open(t, answer(t, "drain"), 1000, 1000, func(b *tab) {
		send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	})
	lines, _ := b.tree()
	text := strings.Join(lines, "\n")
	require.Contains(t, text, "Wave 1")
	require.NotContains(t, text, "searchbox")
	b.quiet()
}

// A name that looks like the end of the script does no harm: it is shown as it is.
func TestHostileNames(t *testing.T) {
	const evil = `</script><img src=x onerror=alert(1)><script>alert(2)</script>`
	dump := fmt.Sprintf(`{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "v1", "kind": "Node", "metadata": {"name": %[1]q, "labels": {"topology.kubernetes.io/zone": %[1]q}}, "status": {"allocatable": {"cpu": "1", "pods": "10"}}},
		{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %[1]q, "namespace": "default", "labels": {"app": %[1]q}}, "spec": {"priority": 0, "nodeSelector": {"a": %[1]q}, "containers": [{"name": "c"}]}}]}`, evil)
	var out, errs bytes.Buffer
	require.Zero(t, place.Run(t.Context(), []string{"-f", "-", "-o", "html"}, strings.NewReader(dump), &out, &errs), errs.String())
	b := open(t, out.String(), 1000, 1000, nil)
	b.settled()
	require.Equal(t, 0, eval[int](b, `document.images.length`))
	require.Equal(t, "Pod default/"+evil, eval[string](b, `document.getElementById("detail-title").textContent`))
	b.quiet()
}
