package anonymise

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/lint"
)

// linted returns what lint says about a dump, and what it says about the dump with new names after the old names are back.
func linted(t *testing.T, input string) (before, after string, unlike []string) {
	t.Helper()
	run := func(text string) string {
		var out, errs bytes.Buffer
		code := lint.Run(t.Context(), []string{"-f", "-", "-o", "json"}, strings.NewReader(text), &out, &errs)
		require.LessOrEqual(t, code, 1, "%s\n%s", errs.String(), text)
		return out.String()
	}
	objects, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{})
	require.NoError(t, err)
	list, names, err := Objects(objects, nil)
	require.NoError(t, err)
	var b bytes.Buffer
	for _, x := range list {
		require.NoError(t, json.NewEncoder(&b).Encode(x))
	}
	return run(input), names.Back(run(b.String())), names.Unlike
}

func labelled(name string, labels, taint string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {kubernetes.io/hostname: %s, topology.kubernetes.io/zone: eu-a, %s}}\nspec: {taints: [{key: %s, effect: NoSchedule}]}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}\n", name, name, labels, taint)
}

func pod(name, spec string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Pod\nmetadata: {name: %s, labels: {app: web}}\nspec: {priority: 0, containers: [{name: c, image: i, resources: {requests: {cpu: '1', memory: 1Gi}}}], %s}\n", name, spec)
}

// lint suggests the same names: keys and values of labels, hostnames, taints, priority classes, and names that are the same behind the
// slash. It suggests none for a name that is like no other.
func TestSuggestions(t *testing.T) {
	before, after, unlike := linted(t, misspelled())
	for _, want := range []string{
		"disktipe, near: disktype", "disktype=ssdd, near: ssd", "disktype=sdd; nodes have hdd, ssd", "team=blue; nodes have red, reds", "label zone, near: topology.kubernetes.io/zone", "topology.kubernetes.com/zone, near: topology.kubernetes.io/zone",
		"label pool, near: example.com/pool", "other.example/pool, near: example.com/pool", "quite-another-thing; nodes have disktype, example.com/pool, team and 2 more", "node-3; nodes have node-1, node-2", "tolerates, near: dedicated",
		"inportant, near: important", "label alpha; nodes have disktype, example.com/pool, team and 2 more", "teams, near: team",
	} {
		require.Contains(t, before, want+"\"")
	}
	require.Equal(t, before, after)
	require.Empty(t, unlike)
}

// misspelled is a dump whose pods ask for names that nothing has.
func misspelled() string {
	const spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: %s, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]"
	return labelled("node-1", "example.com/pool: fast, disktype: ssd, team: red", "dedicated") + labelled("node-2", "example.com/pool: slow, disktype: hdd, team: reds", "gpu") +
		"---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: important}\nvalue: 5\n" +
		pod("a", "nodeSelector: {disktipe: ssd}") + pod("b", "nodeSelector: {disktype: sdd}") + pod("b2", "nodeSelector: {disktype: ssdd}") + pod("c", "nodeSelector: {team: blue}") +
		pod("d", fmt.Sprintf(spread, "zone")) + pod("e", fmt.Sprintf(spread, "topology.kubernetes.com/zone")) + pod("f", fmt.Sprintf(spread, "pool")) +
		pod("g", fmt.Sprintf(spread, "other.example/pool")) + pod("h", fmt.Sprintf(spread, "quite-another-thing")) +
		pod("i", "nodeSelector: {kubernetes.io/hostname: node-3}") + pod("j", "tolerations: [{key: dedicatd, operator: Exists}]") +
		pod("k", "priorityClassName: inportant") + pod("l", "nodeSelector: {topology.kubernetes.io/zone: eu-b, zebra: b, alpha: a}") +
		pod("m", "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: teams, operator: In, values: [red]}]}]}}}")
}

// Names cannot keep every likeness: a name may be like one of two names that a third name is like elsewhere. Objects names it.
func TestUnlike(t *testing.T) {
	input := labelled("n1", "a: ssd, b: hdd, c: hdd", "t") + labelled("n2", "a: ssd, b: hdd, c: ssd", "t") +
		pod("a", "nodeSelector: {a: sdd}") + pod("b", "nodeSelector: {b: sdd}") + pod("c", "nodeSelector: {c: sssd}")
	before, after, unlike := linted(t, input)
	require.Contains(t, before, "c=sssd, near: ssd\"")
	require.Contains(t, after, "c=sssd; nodes have hdd, ssd\"")
	require.Equal(t, []string{"sssd"}, unlike)
}

// Random names of few letters: lint says the same about the new names, or Objects names what differs.
func TestRandomSuggestions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := []byte{"abz"[random.IntN(3)]}
		for range random.IntN(7) {
			b = append(b, "aabcz-"[random.IntN(6)])
		}
		return string(b) + "x"
	}
	key := func() string {
		switch random.IntN(6) {
		case 0:
			return "example.com/" + word()
		case 1:
			return []string{"zone", "kubernetes.io/hostnam", "hostname", "kubernetes.com/hostname", "app.kubernetes.io/name", "name"}[random.IntN(6)]
		}
		return word()
	}
	equal := 0
	const runs = 60
	for run := range runs {
		input, keys := "", []string{key(), key(), key()}
		for k := range 3 {
			labels := map[string]string{}
			for range 3 {
				labels[keys[random.IntN(3)]] = word()
			}
			text, err := json.Marshal(labels)
			require.NoError(t, err)
			input += labelled(fmt.Sprintf("n%d", k), strings.Trim(string(text), "{}"), key())
		}
		for k := range 4 {
			asks := key()
			if random.IntN(2) == 0 {
				asks = keys[random.IntN(3)]
			}
			input += pod(fmt.Sprintf("p%d", k), fmt.Sprintf("nodeSelector: {%q: %s, %q: %s}, tolerations: [{key: %s, operator: Exists}]", asks, word(), asks+"y", word(), key()))
		}
		before, after, unlike := linted(t, input)
		if len(unlike) == 0 {
			equal++
			require.Equal(t, before, after, "run %d:\n%s", run, input)
		}
	}
	require.Greater(t, equal, runs/2)
	t.Logf("%d of %d", equal, runs)
}
