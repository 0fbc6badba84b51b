package filter

import (
	"slices"
	"strings"
)

// PreFilterResult is what one PreFilter plugin answers about a pod.
type PreFilterResult struct {
	Plugin string
	Code   Code
	// Reasons of a code other than Success and Skip.
	Reasons []string
	// Nodes names the nodes that can take the pod. nil stands for all nodes; an empty, non-nil slice for none. Names of
	// nodes that do not exist are allowed and match nothing.
	Nodes []string
}

// PreFilters joins the answers of the PreFilter plugins, in plugin order. The zero value is ready: all nodes, no
// rejection.
type PreFilters struct {
	narrowed  bool
	nodes     []string
	narrowing []string // plugins that returned a set
	skipped   []string
	code      Code
	message   string
	rejecters []string
	stopped   bool
	err       error
}

// Add joins one answer and reports whether the later plugins are not to be called:
//
//  1. Skip: the plugin's filter is left out, its set ignored.
//  2. Success: its set narrows what is left. Nothing left rejects the pod with UnschedulableAndUnresolvable at once.
//  3. Unschedulable: remembered; the other plugins still run. The last one counts.
//  4. UnschedulableAndUnresolvable: rejects the pod at once.
//  5. anything else is an error and ends the attempt.
//
// Rule: documentation, "Scheduling Framework", PreFilter.
func (f *PreFilters) Add(r PreFilterResult) (stop bool) {
	switch r.Code {
	case Skip:
		f.skipped = append(f.skipped, r.Plugin)
		return false
	case Success:
		return f.narrow(r)
	case Unschedulable:
		f.code, f.message, f.rejecters = r.Code, strings.Join(r.Reasons, ", "), []string{r.Plugin}
		return false
	case UnschedulableAndUnresolvable:
		f.code, f.message, f.rejecters, f.stopped = r.Code, strings.Join(r.Reasons, ", "), []string{r.Plugin}, true
		return true
	}
	text := strings.Join(r.Reasons, ", ")
	if r.Code == Wait {
		text = "unexpected status " + r.Code.String()
	}
	f.code, f.message, f.rejecters, f.stopped = Error, "", nil, true
	f.err = &preFilterError{Plugin: r.Plugin, Text: text}
	return true
}

func (f *PreFilters) narrow(r PreFilterResult) (stop bool) {
	if r.Nodes == nil {
		return false
	}
	f.narrowing = append(f.narrowing, r.Plugin)
	if !f.narrowed {
		f.narrowed, f.nodes = true, slices.Clone(r.Nodes)
		slices.Sort(f.nodes)
		f.nodes = slices.Compact(f.nodes)
	} else {
		f.nodes = slices.DeleteFunc(f.nodes, func(n string) bool { return !slices.Contains(r.Nodes, n) })
	}
	if len(f.nodes) > 0 {
		return false
	}
	f.message = "node(s) didn't satisfy plugin " + f.narrowing[0]
	if len(f.narrowing) > 1 {
		f.message = "node(s) didn't satisfy plugin(s) " + f.names() + " simultaneously"
	}
	f.code, f.rejecters, f.stopped = UnschedulableAndUnresolvable, slices.Clone(f.narrowing), true
	return true
}

func (f *PreFilters) names() string {
	sorted := slices.Clone(f.narrowing)
	slices.Sort(sorted)
	return "[" + strings.Join(sorted, " ") + "]"
}

// Code returns Success, or the code with which the pod is rejected, or Error.
func (f *PreFilters) Code() Code { return f.code }

// Message returns the rejection's text for Message.PreFilter, "" without a rejection.
func (f *PreFilters) Message() string { return f.message }

// Err returns the error that ended the attempt, nil without.
func (f *PreFilters) Err() error { return f.err }

// Stopped reports whether the plugins after the last one added were not called.
func (f *PreFilters) Stopped() bool { return f.stopped }

// Nodes returns the names of the nodes that are left, sorted, and false when all are.
func (f *PreFilters) Nodes() (names []string, narrowed bool) { return f.nodes, f.narrowed }

// Outside returns the reason of the nodes that are not left, for Message.Absent; none when all nodes are left.
// also are plugins named with those that narrowed: the one that rejected the nominated node (Found.NominatedBy), which is
// tried before the others.
func (f *PreFilters) Outside(also ...string) []string {
	if !f.narrowed {
		return nil
	}
	names := slices.Clone(f.narrowing)
	for _, name := range also {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return []string{"node(s) didn't satisfy plugin(s) [" + strings.Join(names, " ") + "]"}
}

// Skipped returns the plugins whose filters are left out, in plugin order.
func (f *PreFilters) Skipped() []string { return f.skipped }

// Rejecters returns the plugins whose events may make the pod schedulable: the one that rejected and, unless it stopped
// the others, those that narrowed the nodes.
func (f *PreFilters) Rejecters() []string {
	if f.err != nil {
		return nil
	}
	if f.code == UnschedulableAndUnresolvable {
		return f.rejecters
	}
	out := slices.Clone(f.rejecters)
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
