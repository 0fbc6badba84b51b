package filter

import (
	"slices"
	"strings"
)

// PreFilterResult is the answer of one PreFilter plugin about a pod.
type PreFilterResult struct {
	Plugin string
	Code   Code
	// Reasons belong to a Code other than Success and Skip.
	Reasons []string
	// Nodes names the nodes that can take the pod. nil means all nodes. An empty, non-nil slice means no node. A name that
	// no node has matches nothing.
	Nodes []string
}

// PreFilters joins the answers of the PreFilter plugins. Add the answers in plugin order. The zero value is ready: no
// rejection, all nodes.
type PreFilters struct {
	// Code is Success, the code with which the pod is rejected, or Error. After Error and UnschedulableAndUnresolvable the
	// later plugins were not called.
	Code Code
	// Message is the text of the rejection, for Message.PreFilter; "" without a rejection.
	Message string
	// Err is the error that ended the attempt; nil when Code is not Error.
	Err error
	// Nodes has the sorted names of the nodes that are left. nil means all nodes.
	Nodes []string

	narrowing []string // plugins that returned a set of nodes
	rejecters []string
}

// Add joins one answer. It reports whether the later plugins must not be called:
//
//  1. Skip: the caller leaves out the plugin's filter. The plugin's set of nodes is ignored.
//  2. Success: the plugin's set narrows Nodes. When no node is left, the pod is rejected with [UnschedulableAndUnresolvable]
//     at once.
//  3. Unschedulable: the pod is rejected, and the other plugins still run. The last such answer counts.
//  4. UnschedulableAndUnresolvable: the pod is rejected at once.
//  5. Any other code is an error and ends the attempt.
//
// Rule: documentation, "Scheduling Framework", PreFilter.
func (f *PreFilters) Add(r PreFilterResult) (stop bool) {
	switch r.Code {
	case Skip:
		return false
	case Success:
		return f.narrow(r)
	case Unschedulable:
		f.Code, f.Message, f.rejecters = r.Code, strings.Join(r.Reasons, ", "), []string{r.Plugin}
		return false
	case UnschedulableAndUnresolvable:
		f.Code, f.Message, f.rejecters = r.Code, strings.Join(r.Reasons, ", "), []string{r.Plugin}
		return true
	}
	text := strings.Join(r.Reasons, ", ")
	if r.Code == Wait {
		text = "unexpected status " + r.Code.String()
	}
	f.Code, f.Message, f.rejecters = Error, "", nil
	f.Err = &preFilterError{Plugin: r.Plugin, Text: text}
	return true
}

func (f *PreFilters) narrow(r PreFilterResult) (stop bool) {
	if r.Nodes == nil {
		return false
	}
	f.narrowing = append(f.narrowing, r.Plugin)
	if f.Nodes == nil {
		f.Nodes = append([]string{}, r.Nodes...)
		slices.Sort(f.Nodes)
		f.Nodes = slices.Compact(f.Nodes)
	} else {
		f.Nodes = slices.DeleteFunc(f.Nodes, func(n string) bool { return !slices.Contains(r.Nodes, n) })
	}
	if len(f.Nodes) > 0 {
		return false
	}
	f.Message = "node(s) didn't satisfy plugin " + f.narrowing[0]
	if len(f.narrowing) > 1 {
		f.Message = "node(s) didn't satisfy plugin(s) " + brackets(f.narrowing) + " simultaneously"
	}
	f.Code, f.rejecters = UnschedulableAndUnresolvable, slices.Clone(f.narrowing)
	return true
}

// brackets returns names in order, such as "[a b]".
func brackets(names []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(names)), " ") + "]"
}

// LeftOut returns the reason of the nodes that are not left, for [Message.Absent]; none when all nodes are left. The reason
// names the plugins that narrowed the nodes and the plugins of also. also has the plugin that rejected the nominated node
// ([Found.NominatedBy]), which is tried before the other nodes; "" there names no plugin.
func (f *PreFilters) LeftOut(also ...string) []string {
	if f.Nodes == nil {
		return nil
	}
	names := slices.Clone(f.narrowing)
	for _, name := range also {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return []string{"node(s) didn't satisfy plugin(s) " + brackets(names)}
}

// Rejecters returns the plugins whose events may make the pod schedulable: the plugin that rejected the pod, and the plugins
// that narrowed the nodes. When a plugin rejects with [UnschedulableAndUnresolvable], Rejecters returns that plugin alone.
// After an error the result is empty.
func (f *PreFilters) Rejecters() []string {
	if f.Err != nil {
		return nil
	}
	out := slices.Clone(f.rejecters)
	if f.Code == UnschedulableAndUnresolvable {
		return out
	}
	for _, p := range f.narrowing {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// preFilterError is the failure of a PreFilter plugin.
type preFilterError struct {
	Plugin string
	Text   string
}

// Error returns kube-scheduler's text: running PreFilter plugin "<plugin>": <text>.
func (e *preFilterError) Error() string {
	return "running PreFilter plugin " + quote(e.Plugin) + ": " + e.Text
}
