package mcp

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Twelve planted faults, as others plant them for agents: the cause that the answer names, the first fix, and what must not come first.
func TestPlantedFaults(t *testing.T) {
	why, none := args{"pod": "deployment/default/web"}, args{"workload": "deployment/default/web"}
	type test struct {
		name, reason string
		tool         string
		a            args
		cause, fix   string // regular expressions
		not          string // that no first fix matches
	}
	testkit.Run(t, []test{
		{"01-taint", "the only node has a taint", "why_pod", why, `worker-1 is reserved by key1=value1`, `add a node like worker-1, but without the taint key1=value1`, `untaint`},
		{"02-full", "500m are left, and 1 is asked for", "why_pod", why, `asks for cpu 1, and worker-1 has 500m of 2 free`, `requests.cpu from 1 to 500m`, ``},
		{"03-too-large", "no node is so large", "why_pod", why, `memory 2Gi, and worker-1, the largest of 2 open nodes, has 1Gi`, `requests.memory from 2Gi to 1Gi`, `wait`},
		{"04-selector", "no node has the label", "why_pod", why, `region=us-west-9, and no node has the label region`, `drop .*nodeSelector\[region\]`, `untaint`},
		{"05-affinity", "nothing runs that the pod wants near", "why_pod", why, `wants pods with app=nginx, and no such pod runs`, `make .*podAffinity.* a preference`, ``},
		{"06-maintenance", "the worker that the pod selects is in maintenance", "why_pod", why, `worker-1 is marked by maintenance=scheduled`, `Node worker-1: remove the taint maintenance=scheduled:NoSchedule`, `control-plane`},
		{"07-claim", "the claim is not there", "why_pod", args{"pod": "default/db-0"}, `there is no claim data-db-0`, `^create PersistentVolumeClaim default/data-db-0`, `bind`},
		{"08-apart", "three replicas apart on two workers", "why_pod", why, `allows one pod a node`, `add a node like worker|spec.replicas 2|preference`, `control-plane|tolerate`},
		{"09-no-such-node", "a hostname that no node has", "why_pod", why, `kubernetes.io/hostname=extra-node`, `drop .*nodeSelector\[kubernetes.io/hostname\]|did you mean`, `label`},
		{"10-drain", "one budget of three allows nothing", "drain", args{"nodes": []string{"worker-1", "worker-2"}}, `by budget default/a: .* leaves none`, `for the time of the drain: budget a: maxUnavailable: 1`, `budget b|budget c`},
		{"11-quota", "the template asks for more than the quota has", "why_no_pods", none, `exceeded quota: team, requested: requests.cpu=500m, used: requests.cpu=0, limited: requests.cpu=400m`, `requests\[cpu\] from 500m to 400m`, ``},
		{"12-limit-range", "the limit is above the LimitRange", "why_no_pods", none, `maximum cpu usage per Container is 700m, but limit is 900m`, `limits\[cpu\] from 900m to 700m`, ``},
	}, func(t *testing.T, c test) {
		s := ask(t, connect(t, fileOptions(filepath.Join("testdata/faults", c.name+".yaml"))), c.tool, c.a)
		require.False(t, s.bad, s.text)
		require.Regexp(t, c.cause, s.text)
		fixes := s.list("fixes")
		require.NotEmpty(t, fixes)
		first := fixes[0]["text"].(string)
		require.Regexp(t, c.fix, first)
		if c.not != "" {
			require.False(t, regexp.MustCompile(c.not).MatchString(first), first)
		}
		if c.name == "01-taint" { // whoever has set the taint may take it away
			require.Regexp(t, `tolerate key1=value1:NoSchedule|remove the taint key1`, fixes[1]["text"])
			require.Contains(t, fixes[1]["risk"], "ask: ")
		}
		for _, f := range fixes {
			require.NotContains(t, f["risk"], "unsafe")
			require.NotEmpty(t, f["risk"])
			require.NotNil(t, f["consequences"])
		}
	})
}

// Of the drain of two nodes the answer parts what blocks in any case from what blocks because they leave together.
func TestTogether(t *testing.T) {
	c := connect(t, fileOptions("testdata/faults/10-drain.yaml"))
	s := ask(t, c, "drain", args{"nodes": []string{"worker-1", "worker-2"}})
	for _, b := range s.list("blocked") {
		require.Equal(t, b["budget"] != "default/a", b["together"] == true, b)
	}
	require.Contains(t, s.list("fixes")[1]["text"], "one node after the other")
	require.Contains(t, s.list("fixes")[0]["consequences"].([]any)[0], "put it back after the drain")
	require.Len(t, s.list("eachAlone"), 2)
	require.Equal(t, []any{"default/a"}, s.list("eachAlone")[0]["budgets"])
	s = ask(t, c, "drain", args{"nodes": []string{"worker-1"}})
	require.Len(t, s.list("blocked"), 1)
	require.Len(t, s.list("fixes"), 1)
	require.NotContains(t, s.data, "eachAlone")
}
