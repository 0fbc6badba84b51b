package consolidate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/planning/consolidation"
	"github.com/podberth/podberth/planning/gang"
	"github.com/podberth/podberth/planning/gang/proof"
	"github.com/podberth/podberth/podgroup"
	"github.com/podberth/podberth/tools/program"
)

// gangs is how many gangs like a group fit, each in one domain.
type gangs struct {
	Group string `json:"group"` // podgroup/NAMESPACE/NAME
	// By the label of --free-domains or of the group, by node, and anywhere for a group without a label.
	By []fitsBy `json:"by"`
}

type fitsBy struct {
	Key    string       `json:"key"`    // the label; empty for anywhere
	Before gang.Fitting `json:"before"` // in the cluster as it is
	After  gang.Fitting `json:"after"`  // after the plan
}

// mostGangs is how many gangs are counted at most.
const mostGangs = 1000

// template is the question about the group of -gang, with its pods that wait and that run.
func template(o options, s *cluster.Snapshot, pods []*v1.Pod, profile consolidation.Input, gates *podgroup.Gates) (proof.Question, error) {
	q := proof.Question{Snapshot: s, Profile: profile.Profile}
	if gates == nil {
		return q, fmt.Errorf("-gang: Forbidden: without the feature gate GenericWorkload there are no groups")
	}
	q.Gates = *gates
	namespace, name := groupName(o)
	if s.Group(namespace, name) == nil {
		return q, fmt.Errorf("-gang: Not found: %q: no PodGroup of the input", "podgroup/"+namespace+"/"+name)
	}
	for _, pod := range pods {
		if group, ok := podgroup.Of(pod); ok && group == name && pod.Namespace == namespace && !cluster.Finished(pod) {
			q.Queued = append(q.Queued, pod)
		}
	}
	if len(q.Queued) == 0 {
		return q, fmt.Errorf("-gang: Invalid value: %q: no pod of the input is in the group: its pods say what a gang asks for", "podgroup/"+namespace+"/"+name)
	}
	return q, nil
}

// groupName reads podgroup/NAME and podgroup/NAMESPACE/NAME. The namespace is that of -n, or default.
func groupName(o options) (namespace, name string) {
	name = strings.TrimPrefix(strings.TrimPrefix(o.gang, "podgroup/"), "podgroups/")
	if before, after, ok := strings.Cut(name, "/"); ok {
		return before, after
	}
	return cmp.Or(o.Tables.Namespace, v1.NamespaceDefault), name
}

// count counts gangs before and after the plan.
func (in *input) count(p *consolidation.Plan, o options, stop func() bool) (*gangs, error) {
	q := in.template
	namespace, name := groupName(o)
	own := ""
	if c := q.Snapshot.Group(namespace, name).Constraints; c != nil && len(c.Topology) > 0 {
		own = c.Topology[0]
	}
	keys := []string{cmp.Or(o.freeDomains, own), v1.LabelHostname}
	if own == "" {
		keys = append(keys, "")
	}
	if keys[0] == "" {
		keys = keys[1:]
	}
	after, err := in.planner.After(p)
	if err != nil {
		return nil, err
	}
	out := &gangs{Group: fmt.Sprintf("podgroup/%s/%s", namespace, name), By: []fitsBy{}}
	for _, key := range slices.Compact(keys) {
		x := fitsBy{Key: key}
		if x.Before, err = gang.HowMany(q, key, mostGangs, gang.Options{Stop: stop}); err != nil {
			return nil, fmt.Errorf("-gang: %w", err)
		}
		then := q
		then.Snapshot = after
		if x.After, err = gang.HowMany(then, key, mostGangs, gang.Options{Stop: stop}); err != nil {
			return nil, fmt.Errorf("-gang: %w", err)
		}
		out.By = append(out.By, x)
	}
	return out, nil
}

// table writes the counts.
func (g *gangs) table(out *strings.Builder, t program.Tables) {
	amount := func(f gang.Fitting) string {
		if f.Cut {
			return fmt.Sprintf("%d or more", f.Gangs)
		}
		return fmt.Sprint(f.Gangs)
	}
	var rows [][]string
	for _, x := range g.By {
		var where []string
		for _, d := range x.After.Domains {
			if d.Name != "" {
				where = append(where, fmt.Sprintf("%s %d", d.Name, d.Most))
			}
		}
		if more := len(where) - 8; more > 0 {
			where = append(where[:8], fmt.Sprintf("and %d more", more))
		}
		rows = append(rows, []string{cmp.Or(x.Key, "anywhere"), amount(x.Before), amount(x.After), cmp.Or(strings.Join(where, ", "), "-")})
	}
	t.Layout.Section(out, "Gangs like "+g.Group, []string{"BY", "FIT NOW", "FIT THEN", "WHERE THEN"}, rows)
}
