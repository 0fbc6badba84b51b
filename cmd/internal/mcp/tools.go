package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// input has the arguments of all tools. Each tool has some of them.
type input struct {
	Pod       string   `json:"pod"`
	Node      string   `json:"node"`
	Workload  string   `json:"workload"`
	Template  string   `json:"template"`
	Leader    string   `json:"leader"`
	Count     int      `json:"count"`
	Nodes     []string `json:"nodes"`
	Changes   []action `json:"changes"`
	Namespace string   `json:"namespace"`
	Refresh   bool     `json:"refresh"`
}

// tool is one question that an agent can ask.
type tool struct {
	name, about string
	arguments   []argument
	ask         func(q *question, in *input) (reply, error)
}

// argument is one property of a tool's schema.
type argument struct {
	name, schema string
	required     bool
}

const text = `"type":"string","maxLength":512`

var refresh = argument{"refresh", `{"type":"boolean","description":"read the cluster again first"}`, false}

// tools are all tools, in the order in which they are listed.
var tools = []tool{
	{"why_pod", "Why a pod waits, or why it runs where it runs, and what lets it run: cause, reasons by nodes, proven fixes with consequences and risk. With node: why not on that node.",
		[]argument{{"pod", `{` + text + `,"description":"namespace/name, or kind/name of an owner in the default namespace"}`, true},
			{"node", `{` + text + `,"description":"name of a node"}`, false}, refresh}, whyPod},
	{"why_no_pods", "Why a workload has no pods, or fewer than it wants: what the API server refuses (quota, LimitRange, PriorityClass, fields), and fixes.",
		[]argument{{"workload", `{` + text + `,"description":"kind/namespace/name, as deployment/shop/web"}`, true}, refresh}, whyNoPods},
	{"fit", "How many more pods like one fit, on which nodes, and why the next does not; of a pod of a group: how many whole groups. Waiting pods are not placed before.",
		[]argument{{"pod", `{` + text + `,"description":"namespace/name of a pod to copy"}`, false},
			{"template", `{` + text + `,"description":"in place of pod: kind/namespace/name of a workload whose template to copy"}`, false},
			{"count", `{"type":"integer","minimum":1,"maximum":100000,"description":"do so many fit?"}`, false},
			{"leader", `{` + text + `,"description":"namespace/name of a pod; a copy of it is placed first"}`, false}, refresh}, fitPods},
	{"drain", "What draining nodes does: which pods are blocked by which budget and what helps, waves, where the others go, who gets no node, which pods on other nodes leave with their groups.",
		[]argument{{"nodes", `{"type":"array","items":{` + text + `},"minItems":1,"maxItems":50}`, true}, refresh}, drainNodes},
	{"what_if", "What waits, gets a node, moves and goes after changes, made in their order on one copy of the cluster.",
		[]argument{{"changes", `{"type":"array","minItems":1,"maxItems":50,"items":{"type":"object","additionalProperties":false,"required":["do","on"],"properties":{` +
			`"do":{"enum":["` + strings.Join(actions.names(), `","`) + `"]},` +
			`"on":{` + text + `,"description":"node; for scale, request: kind/namespace/name; for evict: namespace/name"},` +
			`"to":{` + text + `,"description":"taint: key=value:effect; untaint: key; label: key=value or key-; scale: replicas; request: cpu=250m; addNodeLike: how many"}}}}`, true}, refresh}, whatIf},
	{"overview", "The state of scheduling: waiting pods by equal reason, budgets that allow no eviction, mistakes that lint finds. Begin here.",
		[]argument{{"namespace", `{` + text + `,"description":"only this one"}`, false}, refresh}, overview},
}

// schema is the JSON schema of the arguments.
func (t tool) schema() string {
	var properties, required []string
	for _, a := range t.arguments {
		properties = append(properties, fmt.Sprintf("%q:%s", a.name, a.schema))
		if a.required {
			required = append(required, fmt.Sprintf("%q", a.name))
		}
	}
	needs := ""
	if len(required) > 0 {
		needs = `"required":[` + strings.Join(required, ",") + `],`
	}
	return `{"type":"object","additionalProperties":false,` + needs + `"properties":{` + strings.Join(properties, ",") + `}}`
}

// mostArguments is how many bytes the arguments of a call may have.
const mostArguments = 64 << 10

// decode reads the arguments of a tool. Errors name the argument and say what is allowed.
func decode(t tool, data json.RawMessage) (*input, error) {
	in := &input{}
	if len(data) > mostArguments {
		return nil, fmt.Errorf("arguments: Too long: at most %d bytes", mostArguments)
	}
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &given); err != nil {
			return nil, errors.New("arguments: Invalid value: must be a JSON object")
		}
	}
	var names []string
	for _, a := range t.arguments {
		names = append(names, a.name)
		if value, is := given[a.name]; a.required && (!is || string(value) == "null") {
			return nil, fmt.Errorf("%s: Required value", a.name)
		}
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("%s: Unsupported value: %s has the arguments %s", cut(name, 100), t.name, strings.Join(names, ", "))
		}
	}
	if len(given) == 0 {
		return in, in.check(t)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s: Invalid value: a %s: must be %s", wrong.Field, wrong.Value, inWords(wrong.Type.Kind()))
		}
		return nil, fmt.Errorf("arguments: Invalid value: %w", err)
	}
	for _, a := range []struct{ name, text string }{{"pod", in.Pod}, {"node", in.Node}, {"workload", in.Workload}, {"template", in.Template}, {"leader", in.Leader}, {"namespace", in.Namespace}} {
		if len(a.text) > mostArgument {
			return nil, fmt.Errorf("%s: Too long: at most %d bytes", a.name, mostArgument)
		}
	}
	return in, in.check(t)
}

// inWords says what an argument must be.
func inWords(kind reflect.Kind) string {
	switch kind {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

const (
	mostArgument = 512
	mostList     = 50
)

// check checks what the schema says besides types.
func (in *input) check(t tool) error {
	for _, n := range in.Nodes {
		if len(n) > mostArgument {
			return fmt.Errorf("nodes: Too long: at most %d bytes a name", mostArgument)
		}
	}
	switch {
	case t.name == "drain" && (len(in.Nodes) == 0 || len(in.Nodes) > mostList):
		return fmt.Errorf("nodes: Invalid value: %d nodes: must be 1 to %d", len(in.Nodes), mostList)
	case t.name == "what_if" && (len(in.Changes) == 0 || len(in.Changes) > mostList):
		return fmt.Errorf("changes: Invalid value: %d changes: must be 1 to %d", len(in.Changes), mostList)
	case t.name == "fit" && (in.Pod == "") == (in.Template == ""):
		return errors.New("pod, template: Required value: exactly one of the two")
	case in.Count < 0 || in.Count > 100_000:
		return fmt.Errorf("count: Invalid value: %d: must be 1 to 100000", in.Count)
	case t.name == "why_pod" && in.Pod == "":
		return errors.New("pod: Required value: namespace/name")
	case t.name == "why_no_pods" && in.Workload == "":
		return errors.New("workload: Required value: kind/namespace/name")
	}
	return nil
}

// qualified returns a name with its namespace.
func (q *question) qualified(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return q.o.Namespace + "/" + name
}
