package placement

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/placement/internal/hooks"
)

// Warnings returns why the plan cannot share work between equal pods, one text for each reason, and the first pod that was decided
// without having been admitted; nil when there is nothing to say. Every decision is right all the same: without shared work each asks
// about every node, and a pod that admission would change, by admission.Admit, is decided as it is.
//
// The reasons are:
//
//   - a plugin of [KeepNothing],
//   - more than one filter of [KeepByNodeAndPods], or a filter that counts running pods in front of it,
//   - a cluster without a change log,
//   - a predicate or scorer of [KeepByNode] without AppendSignature and Reads. This shows once such a plugin was asked about a pod.
func (p *Plan) Warnings() []string {
	out := p.profile.warnings(p.cluster)
	if p.log == nil {
		out = append(out, fmt.Sprintf("the cluster, a %T, has no change log, so equal pods share no work", p.cluster))
	}
	if p.engine != nil {
		for _, name := range p.engine.Unsigned() {
			out = append(out, fmt.Sprintf("plugin %s: its Keep is KeepByNode, and its predicate or scorer has neither AppendSignature nor Reads", name))
		}
	}
	if u := p.unadmitted; u.pod != "" {
		out = append(out, fmt.Sprintf("pod %s: %s is not set; the API server sets it before it stores a pod, and admission.Admit does the same", u.pod, u.field))
	}
	return out
}

// warnings returns the reasons that the profile alone gives.
func (p Profile) warnings(c Cluster) []string {
	var out, rows, early []string
	seen := map[*Plugin]bool{}
	never := func(x *Plugin) {
		if x.Keep == KeepNothing && !seen[x] {
			out = append(out, fmt.Sprintf("plugin %s: its Keep is KeepNothing; any other Keep needs AppendKey", x.Name))
		}
		seen[x] = true
	}
	for _, x := range p.Filters {
		never(x)
		switch {
		case x.Keep == KeepByNodeAndPods:
			rows = append(rows, x.Name)
		case x.Keep == keepByAllPods && len(rows) == 0:
			if _, ok := x.states(c).(hooks.Dividing); !ok {
				early = append(early, x.Name)
			}
		}
	}
	for _, w := range p.Scores {
		never(w.Plugin)
	}
	if len(rows) > 1 {
		out = append(out, fmt.Sprintf("plugins %s: at most one filter may be of KeepByNodeAndPods", strings.Join(rows, ", ")))
	}
	if len(rows) > 0 && len(early) > 0 {
		out = append(out, fmt.Sprintf("plugins %s: a filter that counts running pods must come after %s, which is of KeepByNodeAndPods", strings.Join(early, ", "), rows[0]))
	}
	return out
}
