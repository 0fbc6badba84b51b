package explain

import (
	"fmt"
	"strings"

	"github.com/podberth/podberth/placement"
	"github.com/podberth/podberth/tools/report"
)

// Stuck says at which of the pods of a group that were decided together the group fails, because kube-scheduler writes one text for all others; ""
// when none was rejected by itself, such as for a group with too few pods.
func Stuck(members []placement.MemberOutcome) string {
	found, rejected := 0, -1
	for k := range members {
		switch m := &members[k]; {
		case m.Failure == nil && m.Found != "":
			found++
		case m.Failure != nil && rejected < 0:
			rejected = k
		}
	}
	if rejected < 0 {
		return ""
	}
	m := &members[rejected]
	return fmt.Sprintf("%d of %s of its group find nodes; %s/%s: %s", found, report.Count(len(members), "pod"), m.Pod.Namespace, m.Pod.Name, strings.TrimSuffix(m.Failure.Text(), "."))
}
