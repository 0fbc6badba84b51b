package nopods

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/stretchr/testify/require"
)

const (
	head   = "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: REPLICAS\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: SPEC\n"
	one    = "{containers: [{name: c, image: web, resources: RES}]}"
	quotas = "---\n{apiVersion: v1, kind: ResourceQuota, metadata: {name: team, namespace: shop}, spec: {hard: HARD}, status: {hard: HARD, used: USED}}\n"
	lims   = "---\n{apiVersion: v1, kind: LimitRange, metadata: {name: lim, namespace: shop}, spec: {limits: [{type: Container, min: {MIN}, max: {MAX}}]}}\n"
)

func answered(t *testing.T, dump string) (a answer) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{"-f=-", "-o=json", "-workload=replicaset/shop/web"}, strings.NewReader(dump), &out, &errs)
	require.Zero(t, code, errs.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &a))
	return a
}

func object(spec, replicas string) string {
	return strings.NewReplacer("REPLICAS", replicas, "SPEC", spec).Replace(head)
}

// The refusal is the API server's, and the first fix is what lets most pods in.
func TestRefusals(t *testing.T) {
	with := func(resources string) string { return strings.Replace(one, "RES", resources, 1) }
	of := func(text, hard, used string) string {
		return strings.NewReplacer("HARD", hard, "USED", used).Replace(text)
	}
	between := func(least, most string) string {
		return strings.NewReplacer("MIN", least, "MAX", most).Replace(lims)
	}
	for name, x := range map[string]struct{ dump, message, fix string }{
		"quota":          {object(with("{requests: {cpu: 500m}}"), "1") + of(quotas, "{requests.cpu: 400m}", "{requests.cpu: 0}"), "exceeded quota: team, requested: requests.cpu=500m, used: requests.cpu=0, limited: requests.cpu=400m", "requests[cpu] from 500m to 400m"},
		"no request":     {object(with("{}"), "1") + of(quotas, "{requests.cpu: 400m}", "{requests.cpu: 0}"), "failed quota: team: must specify requests.cpu for: c", "requests[cpu]: set 400m"},
		"three replicas": {object(with("{requests: {memory: 1Gi}}"), "3") + of(quotas, "{requests.memory: 1536Mi}", "{requests.memory: 0}"), "exceeded quota: team", "requests[memory] from 1Gi to 512Mi"},
		"full quota":     {object(with("{requests: {cpu: 500m}}"), "1") + of(quotas, "{requests.cpu: 400m}", "{requests.cpu: 400m}"), "exceeded quota", "team: spec.hard[requests.cpu] from 400m to 900m"},
		"pods":           {object(with("{}"), "2") + of(quotas, "{pods: 1}", "{pods: 0}"), "exceeded quota: team, requested: pods=1", "team: spec.hard[pods] from 1 to 2"},
		"above":          {object(with("{limits: {cpu: 900m}}"), "1") + between("cpu: 100m", "cpu: 700m"), "maximum cpu usage per Container is 700m, but limit is 900m", "limits[cpu] from 900m to 700m"},
		"below":          {object(with("{requests: {cpu: 1m}, limits: {cpu: 200m}}"), "1") + between("cpu: 100m", "cpu: 700m"), "minimum cpu usage per Container is 100m, but request is 1m", "requests[cpu] from 1m to 100m"},
		"memory":         {object(with("{limits: {memory: 2Gi}}"), "1") + between("memory: 64Mi", "memory: 1Gi"), "maximum memory usage per Container is 1Gi, but limit is 2Gi", "limits[memory] from 2Gi to 1Gi"},
		"class":          {object("{priorityClassName: gold, containers: [{name: c, image: web}]}", "1"), "no PriorityClass with name gold was found", "create PriorityClass gold"},
		"runtime":        {object("{runtimeClassName: kata, containers: [{name: c, image: web}]}", "1"), `RuntimeClass "kata" not found`, "create RuntimeClass kata"},
	} {
		a := answered(t, x.dump)
		require.Equal(t, refused, a.State, name)
		require.Contains(t, a.Message, x.message, name)
		require.NotEmpty(t, a.Fixes, name)
		require.Contains(t, a.Fixes[0].Text, x.fix, name)
		require.Equal(t, a.Missing, a.Fixes[0].Lets, name)
	}
}

// Each fix is tried on the workload and the quotas as they are: what needs two changes has no fix. A fix is about the container that is refused.
func TestFixesAreTriedAlone(t *testing.T) {
	quota := strings.NewReplacer("HARD", "{requests.cpu: 400m}", "USED", "{requests.cpu: 0}").Replace(quotas)
	most := strings.NewReplacer("MIN", "", "MAX", "cpu: 700m").Replace(lims)
	for name, dump := range map[string]string{
		"a quota and a class":   object("{priorityClassName: gold, containers: [{name: c, image: web, resources: {requests: {cpu: 500m}}}]}", "1") + quota,
		"a range and a quota":   object("{containers: [{name: c, image: web, resources: {requests: {cpu: 900m}, limits: {cpu: 900m}}}]}", "1") + most + quota,
		"two classes at a time": object("{priorityClassName: gold, runtimeClassName: kata, containers: [{name: c, image: web}]}", "1"),
	} {
		a := answered(t, dump)
		require.Equal(t, refused, a.State, name)
		require.Empty(t, a.Fixes, name)
	}
	a := answered(t, object("{containers: [{name: c, image: web, resources: {limits: {cpu: 100m}}}, {name: d, image: web, resources: {limits: {cpu: 900m}}}]}", "1")+most)
	require.Contains(t, a.Fixes[0].Text, "containers[1].resources.limits[cpu] from 900m to 700m")
}

// Pods that nobody refuses, and pods that nobody wants.
func TestOtherStates(t *testing.T) {
	a := answered(t, object("{containers: [{name: c, image: web}]}", "2"))
	require.Equal(t, []any{admitted, 2, 0}, []any{a.State, a.Missing, a.Refused})
	require.Empty(t, a.Fixes)
	a = answered(t, object("{containers: [{name: c, image: web}]}", "0"))
	require.Equal(t, complete, a.State)
	require.Contains(t, a.Said, "spec.replicas is 0")
	a = answered(t, object("{tolerations: [{operator: Like}], containers: [{name: c, image: web}]}", "1"))
	require.Equal(t, refused, a.State)
	require.Contains(t, a.Message, "Unsupported value")
	require.Empty(t, a.Fixes, "no change that is tried helps")
}

// Bad input is one line that says what is allowed.
func TestBadInput(t *testing.T) {
	for args, says := range map[string]string{
		"-workload=web": "must be KIND/NAMESPACE/NAME", "-workload=secret/shop/web": "Unsupported value", "-workload=job/shop/web": "no Job of that", "-workload=": "Required value", "-workload=job/shop/web more": "unexpected argument",
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), append([]string{"-f=-"}, strings.Fields(args)...), strings.NewReader(object("{containers: [{name: c, image: web}]}", "1")), &out, &errs)
		require.Equal(t, 2, code, args)
		require.Empty(t, out.String())
		require.Contains(t, errs.String(), says)
	}
}

// The outputs have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	var out, errs bytes.Buffer
	dump := object(strings.Replace(one, "RES", "{}", 1), "2") + strings.NewReplacer("HARD", "{pods: 1}", "USED", "{pods: 0}").Replace(quotas)
	code := Run(t.Context(), []string{"-f=-", "-o=json", "-workload=replicaset/shop/web"}, strings.NewReader(dump), &out, &errs)
	require.Zero(t, code, errs.String())
	schema.Check(t, testkit.Golden, map[string]any{"NoPods": answer{}}, []string{out.String()}, nil)
}
