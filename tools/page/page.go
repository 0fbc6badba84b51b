package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the parts of the file
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/tools/report"
)

// Form is the form of output of programs that write pages: -o html.
const Form = "html"

// Layout returns how tables in [Page.Text] are written.
func Layout() report.Layout { return report.Layout{Width: 120, Wrap: true} }

// Page is an answer with the cluster that it is about. New makes one.
type Page struct {
	// Summary is the answer in one line. Text is the whole answer for people who read, print or search it as text.
	Summary, Text string
	// Select is the pod whose verdict the page shows first, as NAMESPACE/NAME; "" is the first pod with a verdict,
	// or else the first pod given to Tell.
	Select string
	// Timeline is what happens when. A page shows no timeline when it is nil or has no lanes.
	Timeline *Timeline
	// Shows reports whether the pods of a namespace are listed; nil lists all. Pods that are not listed count as utilisation.
	Shows func(namespace string) bool

	title    string
	nodes    []*v1.Node
	pods     []*v1.Pod
	told     map[string]Pod
	order    []string // of told
	verdicts map[string]*Verdict
}

// New returns a page about a cluster: its nodes, and its pods as they are in the end. Pods without a node wait.
func New(title string, nodes []*v1.Node, pods []*v1.Pod) *Page {
	return &Page{title: title, nodes: nodes, pods: pods, told: map[string]Pod{}, verdicts: map[string]*Verdict{}}
}

// Pod is what an answer says about a pod.
type Pod struct {
	Name    string // NAMESPACE/NAME
	State   string // in a word or two: "Unschedulable", "blocked"
	Message string // why; "" without a reason
}

// Tell adds what the answer says about a pod. The page lists these pods in the order of their first calls, before all other pods. A
// second call for a pod replaces what the first said.
func (p *Page) Tell(pod Pod) {
	if _, ok := p.told[pod.Name]; !ok {
		p.order = append(p.order, pod.Name)
	}
	p.told[pod.Name] = pod
}

// Explain adds what the plugins say about a pod. A nil verdict adds nothing.
func (p *Page) Explain(pod string, v *Verdict) {
	if v != nil {
		p.verdicts[pod] = v
	}
}

var (
	//go:embed page.html
	layout string
	//go:embed page.css
	style string
	//go:embed list.js
	listScript string
	//go:embed page.js
	pageScript string
)

var file = template.Must(template.New("page").Parse(layout))

// Bytes returns the file.
func (p *Page) Bytes() ([]byte, error) {
	var out bytes.Buffer
	err := p.Write(&out)
	return out.Bytes(), err
}

// Write writes the file. The error is that of w.
func (p *Page) Write(w io.Writer) error {
	m := p.model()
	model, err := json.Marshal(m) // with < as \u003c, so that no text ends the element
	if err != nil {
		return err
	}
	script := "\"use strict\";\n" + listScript + pageScript
	return file.Execute(w, map[string]any{
		"Title": p.title, "Summary": p.Summary, "Text": p.Text, "Timeline": m.Timeline != nil,
		"Model": template.JS(model),                                                                                       //nolint:gosec // made by json.Marshal
		"Style": template.CSS(style), "StyleHash": hash(style), "Script": template.JS(script), "ScriptHash": hash(script), //nolint:gosec // parts of this package
	})
}

// hash returns how a content security policy names a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
