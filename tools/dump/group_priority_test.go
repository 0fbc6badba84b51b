package dump

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Which groups count, and with which priority: those that the API server takes, and those that it has stored. A priority that is set stays,
// unless all of admission is asked for.
func TestPrioritiesOfGroups(t *testing.T) {
	type test struct {
		name, why, meta, spec string
		admit                 bool
		want                  int32
		refused               string
	}
	testkit.Run(t, []test{
		{"class", "its value", "", "priorityClassName: high, ", false, 100, ""},
		{"none", "the default class with the smallest value", "", "", false, 3, ""},
		{"unknown", "nobody made the class", "", "priorityClassName: hig, ", false, 0, "no PriorityClass with name hig was found"},
		{"stored", "the class was there then", `, resourceVersion: "7"`, "priorityClassName: hig, priority: 8, ", true, 8, ""},
		{"set", "it stays", "", "priorityClassName: high, priority: 8, ", false, 8, ""},
		{"admitted", "it is not that of the class", "", "priorityClassName: high, priority: 8, ", true, 0, "priority set in the %s (8) must match the priority computed (100) based on the priority class set in the spec"},
		{"system", "a group has at most 1000000000", "", "priorityClassName: system-node-critical, ", false, 0, "must be less than or equal to 1000000000"},
	}, func(t *testing.T, c test) {
		const classes = `
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: second}, value: 4, globalDefault: true}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: first}, value: 3, globalDefault: true}
---
`
		text := classes + fmt.Sprintf("{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g%s}, spec: {%sschedulingPolicy: {basic: {}}}}", c.meta, c.spec) +
			fmt.Sprintf("\n---\n{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: c%s}, spec: {%sworkloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {basic: {}}}}", c.meta, c.spec)
		o, err := Read([]string{"-"}, strings.NewReader(text), Options{})
		require.NoError(t, err)
		if c.admit {
			o.AdmitGroups()
		}
		groups, composites := o.AcceptedGroups()
		whole := RefusedPriority(o.PodGroups[0], o.PriorityClasses, c.admit)
		above := RefusedPriority(o.CompositePodGroups[0], o.PriorityClasses, c.admit)
		if c.refused != "" {
			require.Empty(t, groups)
			require.Empty(t, composites)
			require.Equal(t, strings.Replace(c.refused, "%s", "pod group", 1), whole.Detail)
			require.Equal(t, strings.Replace(c.refused, "%s", "composite pod group", 1), above.Detail)
			return
		}
		require.Nil(t, whole)
		require.Nil(t, above)
		require.Equal(t, c.want, groups[0].EffectivePriority())
		require.Equal(t, c.want, composites[0].EffectivePriority())
	})
}
