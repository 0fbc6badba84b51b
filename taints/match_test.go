package taints_test

import (
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/taints"
)

// Short names of what most tables use.
var (
	taint     = testkit.Taint
	taintList = testkit.Taints
	tol       = testkit.Toleration
)

var numeric = taints.Options{ComparisonOperators: true}

func TestMatches(t *testing.T) {
	type test struct {
		name, toleration, taint string
		off, on                 bool
		why                     string
	}
	cases := []test{
		{"T-1", "key1 Equal value1 NoSchedule", "key1=value1:NoSchedule", true, true, "all three are equal"},
		{"T-2", "key1 Exists _ NoSchedule", "key1=value1:NoSchedule", true, true, "Exists accepts every value"},
		{"T-3 without value", "k _ _ _", "k:NoSchedule", true, true, "no operator means Equal, empty equals empty"},
		{"T-3 with value", "k _ _ _", "k=v:NoSchedule", false, false, "empty value equals only the empty value"},
		{"T-4", "k Equal v NoExecute", "k=v:NoSchedule", false, false, "another effect"},
		{"T-5", "k Exists zzz _", "k=v:NoExecute", true, true, "Exists ignores its value"},
		{"T-6", "_ Exists _ _", "anything=x:PreferNoSchedule", true, true, "empty key and effect match all"},
		{"T-6 unknown effect", "_ Exists _ _", "anything=x:Bogus", true, true, "empty effect matches unknown effects too"},
		{"the same unknown effect", "k Exists _ Bogus", "k=v:Bogus", true, true, "the effects are equal"},
		{"another unknown effect", "k Exists _ Bogus", "k=v:Odd", false, false, "the effects differ"},
		{"T-7", "_ Exists _ NoSchedule", "k=v:NoExecute", false, false, "effect is looked at first"},
		{"T-8", "_ Equal v _", "k=v:NoExecute", true, true, "the key rule does not look at the operator"},
		{"T-9", "k exists _ _", "k=v:NoExecute", false, false, "operators are case-sensitive"},
		{"T-10", "k Exists _ NoSchedule", "k=v", false, false, "a taint without effect has not this effect"},
		{"T-11 greater", "k Gt 5 _", "k=6:NoSchedule", false, true, "6 > 5"},
		{"T-11 equal", "k Gt 5 _", "k=5:NoSchedule", false, false, "strict"},
		{"T-12 less", "k Lt 5 _", "k=4:NoSchedule", false, true, "4 < 5"},
		{"T-12 negative", "k Lt 5 _", "k=-4:NoSchedule", false, true, "a negative taint value is compared although the API refuses it"},
		{"T-13", "k Gt -5 _", "k=0:NoSchedule", false, true, "0 > -5"},
		{"T-14 leading zero", "k Gt 05 _", "k=6:NoSchedule", false, false, "not canonical"},
		{"T-14 plus", "k Gt +5 _", "k=6:NoSchedule", false, false, "not canonical"},
		{"T-14 minus zero", "k Gt -0 _", "k=6:NoSchedule", false, false, "not canonical"},
		{"T-14 decimal", "k Gt 5.0 _", "k=6:NoSchedule", false, false, "not an integer"},
		{"T-14 empty", "k Gt _ _", "k=6:NoSchedule", false, false, "not a number"},
		{"T-15 leading zero", "k Gt 5 _", "k=06:NoSchedule", false, false, "the taint's value must be canonical too"},
		{"T-15 letters", "k Gt 5 _", "k=abc:NoSchedule", false, false, "the taint's value must be a number"},
		{"T-15 empty", "k Gt 5 _", "k:NoSchedule", false, false, "the taint's value must be a number"},
		{"T-16", "k Gt 9223372036854775806 _", "k=9223372036854775807:NoSchedule", false, true, "the largest int64"},
		{"T-17", "k Lt 9223372036854775808 _", "k=1:NoSchedule", false, false, "beyond int64"},
		{"smallest", "k Gt -9223372036854775808 _", "k=-9223372036854775807:NoSchedule", false, true, "the smallest int64"},
		{"below smallest", "k Gt -9223372036854775809 _", "k=1:NoSchedule", false, false, "beyond int64"},
		{"any key compared", "_ Gt 5 _", "k=6:NoSchedule", false, true, "Gt with empty key compares the value of any key"},
		{"zero toleration with empty value", "_ _ _ _", "k:NoExecute", true, true, "a zero toleration tolerates the taints without value"},
		{"zero toleration with value", "_ _ _ _", "k=v:NoExecute", false, false, "and no others"},
		{"unknown operator", "k In v _", "k=v:NoSchedule", false, false, "not an operator of tolerations"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		tl, tn := tol(c.toleration), taint(c.taint)
		require.Equal(t, c.off, taints.Matches(&tl, &tn, taints.Options{}))
		require.Equal(t, c.on, taints.Matches(&tl, &tn, numeric))
		require.Equal(t, c.on, taints.Compile([]v1.Toleration{tol("other Exists _ _"), tl}, numeric).ToleratesTaint(&tn), "in a set")
		require.Equal(t, c.on, taints.Compile([]v1.Toleration{tl, tol("other Exists _ _")}, numeric).ToleratesTaint(&tn), "compiled")
	})
}

// toleratesTaint calls the method that k8s.io/api carries, with a zero logger.
func toleratesTaint[L any](f func(*v1.Toleration, L, *v1.Taint, bool) bool, t *v1.Toleration, taint *v1.Taint, on bool) bool {
	var logger L
	return f(t, logger, taint, on)
}

var (
	someKeys    = []string{"", "k", "l", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
	someValues  = []string{"", "v", "5", "6", "-5", "0", "-0", "05", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999"}
	someEffects = []v1.TaintEffect{"NoSchedule", "NoSchedule", "NoExecute", "NoExecute", "PreferNoSchedule", "PreferNoSchedule", "", "Bogus"}
	someOps     = []v1.TolerationOperator{"", "Equal", "Exists", "Exists", "Gt", "Lt", "exists"}
	someSeconds = []int64{-5, 0, 1, 2, 3, 300, 6000, 9223372036, 9223372037, 1 << 62}
)

func pick[T any](r *rand.Rand, of []T) T { return of[r.Intn(len(of))] }

func randomTaints(r *rand.Rand) []v1.Taint {
	list := make([]v1.Taint, r.Intn(5))
	for i := range list {
		list[i] = v1.Taint{Key: pick(r, someKeys), Value: pick(r, someValues), Effect: pick(r, someEffects)}
	}
	return list
}

func randomTolerations(r *rand.Rand) []v1.Toleration {
	list := make([]v1.Toleration, r.Intn(5))
	for i := range list {
		list[i] = v1.Toleration{Key: pick(r, someKeys), Operator: pick(r, someOps), Value: pick(r, someValues)}
		if r.Intn(2) == 0 {
			list[i].Effect = pick(r, someEffects)
		}
		if r.Intn(2) == 0 {
			s := pick(r, someSeconds)
			list[i].TolerationSeconds = &s
		}
	}
	return list
}

// TestMatchesLikeTheAPI compares Matches with the matching method of the API type, over random pairs.
func TestMatchesLikeTheAPI(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	yes := 0
	for range 20000 {
		tl := v1.Toleration{Key: pick(r, someKeys), Operator: pick(r, someOps), Value: pick(r, someValues)}
		if r.Intn(2) == 0 {
			tl.Effect = pick(r, someEffects)
		}
		tn := v1.Taint{Key: pick(r, someKeys), Value: pick(r, someValues), Effect: pick(r, someEffects)}
		for _, on := range []bool{false, true} {
			want := toleratesTaint((*v1.Toleration).ToleratesTaint, &tl, &tn, on)
			require.Equal(t, want, taints.Matches(&tl, &tn, taints.Options{ComparisonOperators: on}), "%v %v %v", tl, tn, on)
			if want {
				yes++
			}
		}
	}
	require.Greater(t, yes, 1000)
}

// Numbers are read to the ends of int64 and no further.
func TestNumbers(t *testing.T) {
	type test struct {
		name, value string
		above       bool
		why         string
	}
	testkit.Run(t, []test{
		{"zero", "0", true, "0 is a number"},
		{"nine", "9", true, "the last digit"},
		{"colon", ":", false, "the character after 9"},
		{"slash", "/", false, "the character before 0"},
		{"minus alone", "-", false, "a sign is no number"},
		{"largest", "9223372036854775807", true, "within int64"},
		{"one more", "9223372036854775808", false, "beyond int64"},
		{"twenty digits", "10000000000000000000", false, "beyond int64"},
		{"smallest", "-9223372036854775808", false, "within int64, and not above itself"},
		{"one less than the smallest", "-9223372036854775809", false, "beyond int64"},
		{"next to smallest", "-9223372036854775807", true, "within int64"},
	}, func(t *testing.T, c test) {
		tl, tn := tol("k Gt -9223372036854775808 _"), v1.Taint{Key: "k", Value: c.value, Effect: v1.TaintEffectNoSchedule}
		require.Equal(t, c.above, taints.Matches(&tl, &tn, numeric))
	})
}

// Every field of a toleration that decides is part of the key. tolerationSeconds decides about running pods alone.
func TestKey(t *testing.T) {
	pod := func(ts ...v1.Toleration) *v1.Pod { return &v1.Pod{Spec: v1.PodSpec{Tolerations: ts}} }
	sameKeys(t, map[string][]*v1.Pod{
		"none":      {pod(), pod()},
		"one":       {pod(tol("k Equal v NoSchedule")), pod(tol("k Equal v NoSchedule", 5))},
		"key":       {pod(tol("l Equal v NoSchedule"))},
		"operator":  {pod(tol("k Exists v NoSchedule"))},
		"value":     {pod(tol("k Equal w NoSchedule"))},
		"effect":    {pod(tol("k Equal v NoExecute"))},
		"two":       {pod(tol("k Equal v NoSchedule"), tol("k Equal v NoSchedule"))},
		"the other": {pod(tol("k Equal v NoSchedule"), tol("_ _ _ _"))},
	})
	require.NotEqual(t, podkey.Tolerations(nil, pod()), podkey.Tolerations(nil, pod(tol("_ _ _ _"))))
	lists := append(podkey.Tolerations(nil, pod()), podkey.Tolerations(nil, pod(tol("k Exists _ _")))...)
	other := append(podkey.Tolerations(nil, pod(tol("k Exists _ _"))), podkey.Tolerations(nil, pod())...)
	require.NotEqual(t, lists, other, "a key says where it ends")
}

// sameKeys holds that the pods of one group have the same key, that pods of different groups have different keys, and that the
// key is appended to what is there.
func sameKeys(t *testing.T, groups map[string][]*v1.Pod) {
	t.Helper()
	by := map[string]string{}
	for name, pods := range groups {
		first := string(podkey.Tolerations(nil, pods[0]))
		require.NotContains(t, by, first, "%s has the key of %s", name, by[first])
		by[first] = name
		for _, p := range pods {
			require.Equal(t, "before"+first, string(podkey.Tolerations([]byte("before"), p)), name)
		}
	}
}
