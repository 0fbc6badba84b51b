package place

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/resources"
	"github.com/podberth/podberth/tools/dump"
)

var (
	// namesIn are words of a sentence that name objects, labels, taints or files of devices: those with a mark inside.
	namesIn = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9./_-]*[-./_=][A-Za-z0-9][A-Za-z0-9./_=-]*|\b[a-z]+[0-9]+\b`)
	// words that sentences are made of, and quantities.
	plain  = regexp.MustCompile(`^(pod-level|max-pods|did|1-100|non-empty|anti-affinity|default|default-scheduler|[0-9.]+([mkMGT]i?|Ki)?)$`)
	paths  = regexp.MustCompile(`\bspec\.[^\s,;:)]+`) // its names are those of Kubernetes
	header = regexp.MustCompile(`(?m)^# .*\n`)
	// room says how much of a resource is free on a node.
	room    = regexp.MustCompile(`asks for (\S+) (\S+?), .*?([a-z0-9-]+) (?:has|is nearest with) ([0-9.]+[A-Za-z]*) of ([0-9.]+[A-Za-z]*) free`)
	largest = regexp.MustCompile(`asks for (\S+) (\S+?), and ([a-z0-9-]+)(?:, the largest of \d+ open nodes,)? has ([0-9.]+[A-Za-z]*)(?: \(|;|$)`)
)

// factual holds that every name in a sentence occurs in the input, and that the amounts which it gives of a node are those of the input.
func factual(t *testing.T, input, sentence string) {
	t.Helper()
	o, err := dump.Read([]string{"-"}, strings.NewReader(input), dump.Options{MaxSize: 1 << 30})
	require.NoError(t, err)
	objects := header.ReplaceAllString(input, "")
	for _, word := range namesIn.FindAllString(paths.ReplaceAllString(sentence, ""), -1) {
		for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '=' }) {
			for name := range strings.SplitSeq(part, "/") {
				if name = strings.TrimSuffix(strings.Trim(name, ".-_"), "-extended-resources"); name == "" || plain.MatchString(name) || strings.Contains(objects, name) {
					continue
				}
				of := func(p *v1.Pod) bool { // a claim that is made for a volume of a pod
					volume, is := strings.CutPrefix(name, p.Name+"-")
					return is && strings.Contains(objects, volume)
				}
				made := slices.ContainsFunc(o.Pods, of) || slices.ContainsFunc(o.Deployments, func(d *appsv1.Deployment) bool { return strings.HasPrefix(name, d.Name+"-") }) ||
					slices.ContainsFunc(o.StatefulSets, func(s *appsv1.StatefulSet) bool {
						return strings.HasPrefix(name, s.Name+"-") || strings.HasSuffix(strings.TrimRight(name, "0123456789-"), s.Name)
					})
				require.True(t, made, "%q of %q is not in the input", name, sentence)
			}
		}
	}
	amount := func(name, text string) int64 { return resources.Value(v1.ResourceName(name), resource.MustParse(text)) }
	node := func(name string) *v1.Node {
		at := slices.IndexFunc(o.Nodes, func(n *v1.Node) bool { return n.Name == name })
		require.GreaterOrEqual(t, at, 0, name)
		return o.Nodes[at]
	}
	if m := room.FindStringSubmatch(sentence); m != nil {
		n, kind := node(m[3]), v1.ResourceName(m[1])
		q := n.Status.Allocatable[kind]
		all := resources.Value(kind, q)
		require.Equal(t, resources.Human(m[1], all), m[5], sentence)
		free := all
		for _, p := range o.Pods {
			if p.Spec.NodeName == n.Name && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
				overhead.Each(p, overhead.Options{UseStatus: true}, func(name v1.ResourceName, total int64) {
					if name == kind {
						free -= total
					}
				})
			}
		}
		podLevel := slices.ContainsFunc(o.Pods, func(p *v1.Pod) bool { return p.Spec.Resources != nil })
		if len(o.Deployments)+len(o.StatefulSets) == 0 && !podLevel { // pods that are made are not in the input, and neither are defaults
			require.Equal(t, resources.Human(m[1], max(free, 0)), m[4], sentence)
		}
		require.Greater(t, amount(m[1], m[2]), amount(m[1], m[4]), sentence)
		rooms++
	}
	if m := largest.FindStringSubmatch(sentence); m != nil {
		q := node(m[3]).Status.Allocatable[v1.ResourceName(m[1])]
		require.Equal(t, amount(m[1], m[4]), resources.Value(v1.ResourceName(m[1]), q), sentence)
		for _, n := range o.Nodes {
			if q := n.Status.Allocatable[v1.ResourceName(m[1])]; len(n.Spec.Taints) == 0 && len(o.Nodes) < 3 {
				require.LessOrEqual(t, resources.Value(v1.ResourceName(m[1]), q), amount(m[1], m[2]), sentence)
			}
		}
		rooms++
	}
}

// rooms counts the sentences whose amounts were computed again.
var rooms int
