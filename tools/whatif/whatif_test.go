package whatif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/internal/schema"
)

const shipped = "../../examples/testdata/cluster.yaml"

func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), append([]string{"-f=" + shipped}, args...), nil, &o, &e)
	return code, o.String(), e.String()
}

func ask(t *testing.T, args ...string) (a answer) {
	t.Helper()
	code, out, errs := run(t, append(args, "-o=json")...)
	require.Zero(t, code, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &a))
	return a
}

// Bad input is one line that names the flag and what is allowed.
func TestBadInput(t *testing.T) {
	for _, x := range []struct{ arg, says string }{
		{"-cordon=none", `-cordon: Not found: "none"`}, {"-taint=general-a1", "-taint: Invalid value"}, {"-taint=general-a1=a=b:Never", "must be NODE=KEY=VALUE:EFFECT"}, {"-taint=none=a=b:NoSchedule", "Not found"},
		{"-untaint=general-a1=none", "has no such taint"}, {"-untaint=x", "-untaint: Invalid value"}, {"-label=general-a1=!!=x", "-label: node general-a1: "}, {"-label=none=a=b", "Not found"}, {"-label=x", "Invalid value"}, {"-label=general-a1=x", "must be NODE=KEY=VALUE or NODE=KEY-"},
		{"-scale=deployment/shop/cart", "-scale: Invalid value"}, {"-scale=deployment/shop/cart=-1", "a number from 0"}, {"-scale=cart=3", "must be KIND/NAMESPACE/NAME"}, {"-scale=secret/shop/cart=3", "Unsupported value"}, {"-scale=deployment/shop/none=3", "Not found"},
		{"-request=deployment/shop/cart=cpu", "-request: Invalid value"}, {"-request=deployment/shop/cart=cpu=much", "Invalid value"}, {"-request=deployment/shop/cart=cpu=-1", "Invalid value"}, {"-request=deployment/shop/none=cpu=1", "Not found"},
		{"-remove-node=none", "Not found"}, {"-add-node-like=none", "Not found"}, {"-add-node-like=general-a1=0", "a number from 1 to 1000"}, {"-add-node-like=general-a1=x", "a number from 1"},
		{"-evict=none", `-evict: Not found: "none"`}, {"-no-headers=false", "at least one change"}, {"more", "unexpected argument"},
	} {
		code, out, errs := run(t, x.arg)
		require.Equal(t, 2, code, x.arg)
		require.Empty(t, out)
		require.Contains(t, errs, x.says)
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	}
}

// Each change does what its name says, and the next one finds the cluster changed.
func TestChanges(t *testing.T) {
	find := func(a answer, pod string) string {
		for _, m := range a.Moves {
			if m.Pod == pod {
				return m.From + " to " + m.To
			}
		}
		for _, w := range a.Waits {
			if w.Pod == pod {
				return w.Since + " " + w.From
			}
		}
		return ""
	}
	a := ask(t, "-remove-node=general-a1")
	require.NotEmpty(t, a.Moves)
	require.NotEmpty(t, a.Gone, "pods of DaemonSets go with their node")
	for _, m := range a.Moves {
		require.Equal(t, "general-a1", m.From)
		require.NotEqual(t, "general-a1", m.To)
	}
	require.Equal(t, a.Summary.WaitingAfter, len(a.Waits))
	require.True(t, slices.IsSortedFunc(a.Waits, func(x, y waits) int { return strings.Compare(y.Since, x.Since) }), "because of the changes first")
	require.NotEqual(t, a.Waits[0].Since, a.Waits[len(a.Waits)-1].Since)

	cordoned := ask(t, "-cordon=general-b1", "-remove-node=general-a1")
	for _, m := range cordoned.Moves {
		require.NotEqual(t, "general-b1", m.To)
	}
	code, _, errs := run(t, "-remove-node=general-a1", "-cordon=general-a1")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "Not found")

	b := ask(t, "-remove-node=general-a1", "-add-node-like=general-b1=2")
	require.LessOrEqual(t, b.Summary.WaitingAfter, a.Summary.WaitingAfter)

	up, down := ask(t, "-scale=deployment/shop/cart=9"), ask(t, "-scale=deployment/shop/cart=1")
	fresh := 0
	for _, p := range up.Placed {
		if p.New {
			fresh++
		}
	}
	require.NotZero(t, fresh)
	require.NotEmpty(t, down.Gone)
	require.Equal(t, "its workload has fewer replicas", down.Gone[0].Why)
	require.Empty(t, down.Gone[0].Node, "the pod without a node goes first")

	out := ask(t, "-taint=general-b1=x=y:NoExecute")
	require.NotEmpty(t, append(out.Moves, move{}))
	for _, m := range out.Moves {
		require.Equal(t, "general-b1", m.From)
		require.NotEqual(t, "general-b1", m.To)
	}
	none := ask(t, "-taint=general-b1=x=y:NoExecute", "-untaint=general-b1=x")
	require.Equal(t, out.Summary.Moves > 0, none.Summary.Moves > 0, "pods that left do not come back by themselves")

	e := ask(t, "-evict=data/postgres-0")
	require.Len(t, e.Refused, 1)
	require.Contains(t, e.Refused[0].Cause, "postgres needs")
	require.NotEmpty(t, e.Refused[0].Remedies)
	require.Empty(t, find(e, "data/postgres-0"), "the pod stays")

	r := ask(t, "-request=deployment/shop/cart=cpu=100")
	require.Equal(t, 0, r.Summary.Placed)
	for _, w := range r.Waits {
		if strings.HasPrefix(w.Pod, "shop/cart-6") && w.From != "" {
			require.Equal(t, "change", w.Since)
			require.Contains(t, w.Message, "Insufficient cpu")
		}
	}
	l := ask(t, "-label=general-a1=x=y", "-label=general-a1=x-")
	require.Zero(t, l.Summary.Moves)
	require.Equal(t, l.Summary.WaitingBefore, l.Summary.WaitingAfter)
}

// The objects of the caller stay as they are.
func TestPurity(t *testing.T) {
	o, err := dump.Read([]string{shipped}, nil, dump.Options{})
	require.NoError(t, err)
	in := dump.Hold(o)
	all := func() string {
		text, err := json.Marshal([]any{o.Pods, o.Nodes, o.Deployments, o.ReplicaSets, o.StatefulSets})
		require.NoError(t, err)
		return string(text)
	}
	before := all()
	for range 2 {
		var out, errs bytes.Buffer
		code := Run(t.Context(), []string{"-f=-", "-remove-node=general-a1", "-taint=general-b1=x=y:NoExecute", "-label=general-c1=a=b", "-scale=deployment/shop/cart=9", "-request=deployment/shop/web=cpu=2", "-evict=shop/cart-canary", "-add-node-like=general-b2", "-untaint=gpu-a1=nvidia.com/gpu", "-o=json"}, in, &out, &errs)
		require.Zero(t, code, errs.String())
		require.Equal(t, before, all())
	}
}

// Values of any form are errors or changes, never a panic.
func FuzzChange(f *testing.F) {
	for _, x := range []string{"cordon general-a1", "taint general-a1=a=b:NoExecute", "untaint gpu-a1=nvidia.com/gpu", "label general-a1=pool-", "scale deployment/shop/cart=3", "request deployment/shop/cart=cpu=1", "remove-node gpu-a1", "add-node-like gpu-a1=2", "evict data/postgres-0"} {
		verb, value, _ := strings.Cut(x, " ")
		f.Add(verb, value)
	}
	o, err := dump.Read([]string{shipped}, nil, dump.Options{})
	if err != nil {
		f.Fatal(err)
	}
	in := dump.Hold(o)
	f.Fuzz(func(t *testing.T, verb, value string) {
		if _, known := verbs[verb]; !known {
			return
		}
		var out, errs bytes.Buffer
		if code := Run(t.Context(), []string{"-f=-", "-o=json", "-" + verb + "=" + value}, in, &out, &errs); code == 0 {
			require.NoError(t, json.Unmarshal(out.Bytes(), &answer{}))
		} else {
			require.Equal(t, 2, code)
			require.NotEmpty(t, errs.String())
		}
	})
}

// The outputs have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	_, out, errs := run(t, "-remove-node=general-a1", "-evict=data/postgres-0", "-scale=deployment/shop/cart=9", "-o=json")
	require.Empty(t, errs)
	schema.Check(t, testkit.Golden, map[string]any{"WhatIf": answer{}}, []string{out, removed(t, "json")}, nil)
}

// removed is the answer about a node that goes: its pod takes the place of a running pod of less priority. Another one gives way already.
func removed(t *testing.T, form string) string {
	t.Helper()
	text := ""
	for _, n := range []string{"n1", "n2", "n3"} {
		text += "---\n{apiVersion: v1, kind: Node, metadata: {name: " + n + "}, status: {allocatable: {cpu: 1, pods: 10}}}\n"
	}
	pod := func(name, node, owner string, priority int) {
		text += fmt.Sprintf("---\n{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default%s}, spec: {%spriority: %d, containers: [{name: c, image: c, resources: {requests: {cpu: 1}}}]}}\n", name, owner, node, priority)
	}
	pod("high", "nodeName: n1, ", ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: high, uid: u, controller: true}]", 9)
	pod("low", "nodeName: n2, ", "", 5)
	pod("lowest", "nodeName: n3, ", "", 0)
	pod("waits", "", "", 7)
	var out, errs bytes.Buffer
	code := Run(t.Context(), []string{"-f=-", "-remove-node=n1", "-o=" + form}, strings.NewReader(text), &out, &errs)
	require.Zero(t, code, errs.String())
	return out.String()
}

// A running pod that gives way because of the changes is named, and one that gives way without them is not.
func TestRunningVictim(t *testing.T) {
	var a answer
	require.NoError(t, json.Unmarshal([]byte(removed(t, "json")), &a))
	require.Equal(t, []victim{{"default/low", "default/waits"}}, a.Victims)
	require.Contains(t, removed(t, "table"), "give way to others: 1")
}
