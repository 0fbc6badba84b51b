package setup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/podberth/podberth/preemption"
	"github.com/podberth/podberth/scheduler"
	"github.com/podberth/podberth/scheduler/config"
	"github.com/podberth/podberth/scheduler/httpextender"
	"github.com/podberth/podberth/score"
)

// asked returns an extender whose server gives this answer.
func asked(t *testing.T, answer string, x Extending, change func(*configv1.Extender)) extender {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(answer)) // the client may have gone
	}))
	t.Cleanup(server.Close)
	c := configv1.Extender{URLPrefix: server.URL, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", BindVerb: "bind", Weight: 2, NodeCacheCapable: true}
	if change != nil {
		change(&c)
	}
	client, err := httpextender.New(c, httpextender.Options{})
	require.NoError(t, err)
	return extender{client, x}
}

// The failure of an ignorable extender is passed over and named. Scores never fail.
func TestExtendersThatFail(t *testing.T) {
	ctx, pod := context.Background(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	nodes := []*v1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n2"}}}
	var passed []string
	x := Extending{PassedOver: func(name string, err error) { passed = append(passed, name+": "+err.Error()) }}
	ignorable := func(c *configv1.Extender) { c.Ignorable = true }

	good := asked(t, `{"NodeNames":["n2"]}`, x, ignorable)
	f, err := good.Filter(ctx, pod, nodes)
	require.NoError(t, err)
	require.Equal(t, []string{"n2"}, f.Nodes)
	require.Empty(t, passed)

	_, err = asked(t, "no JSON", x, nil).Filter(ctx, pod, nodes)
	require.ErrorContains(t, err, "invalid character")
	require.Empty(t, passed, "this failure ends the attempt")

	bad := asked(t, "no JSON", x, ignorable)
	f, err = bad.Filter(ctx, pod, nodes)
	require.NoError(t, err)
	require.Equal(t, []string{"n1", "n2"}, f.Nodes)
	s, err := bad.Prioritize(ctx, pod, nodes)
	require.NoError(t, err)
	require.Equal(t, score.Column{Plugin: bad.Name()}, s)
	require.Len(t, passed, 2)
	for _, text := range passed {
		require.Contains(t, text, bad.Name()+": ")
		require.Contains(t, text, "invalid character")
	}
	_, err = asked(t, "no JSON", Extending{}, ignorable).Filter(ctx, pod, nodes)
	require.NoError(t, err, "nobody hears of the failure")

	s, err = asked(t, `[{"Host":"n1","Score":3}]`, x, nil).Prioritize(ctx, pod, nodes)
	require.NoError(t, err)
	require.NotEmpty(t, s.Scores)
	require.Len(t, passed, 2)
}

// An extender is asked about victims when it has the verb and is interested in the pod.
func TestExtendersAndVictims(t *testing.T) {
	ctx, pod := context.Background(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	victim := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "low", UID: "u"}}
	candidates := []preemption.Candidate{{Node: "n1", Victims: []preemption.Victim{{Placed: preemption.Placed{Pod: victim}}}}}
	got, err := asked(t, `{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"u"}],"NumPDBViolations":1}}}`, Extending{}, nil).Preempt(ctx, pod, candidates)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, "n1", got[0].Node)
	silent := asked(t, "{}", Extending{}, func(c *configv1.Extender) { c.PreemptVerb = "" })
	_, err = silent.Preempt(ctx, pod, candidates)
	require.EqualError(t, err, "extender "+silent.Name()+": is not asked about the victims of pod shop/web")
}

// An extender offers its verbs; it offers to bind only where extenders may bind.
func TestOffers(t *testing.T) {
	for _, binds := range []bool{false, true} {
		all := asked(t, "{}", Extending{Binds: binds}, nil)
		none := asked(t, "{}", Extending{Binds: binds}, func(c *configv1.Extender) { c.FilterVerb, c.PrioritizeVerb, c.PreemptVerb, c.BindVerb = "", "", "", "" })
		for _, v := range []scheduler.Verb{scheduler.FilterVerb, scheduler.PrioritizeVerb, scheduler.PreemptVerb, scheduler.BindVerb} {
			require.Equal(t, binds || v != scheduler.BindVerb, all.Offers(v), v)
			require.False(t, none.Offers(v), v)
		}
	}
}

// The lists of a profile are taken as they are, with the arguments of each plugin, and every warning names the profile.
func TestProfiles(t *testing.T) {
	l := config.Loader{Plugins: map[string]config.Plugin{"Mine": {Points: []config.Point{config.Filter, config.Score}}}}
	c, err := l.Load([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 30
podInitialBackoffSeconds: 2
podMaxBackoffSeconds: 20
profiles:
- schedulerName: packing
  percentageOfNodesToScore: 70
  plugins: {filter: {enabled: [{name: Mine}]}, score: {disabled: [{name: ImageLocality}, {name: Gone}], enabled: [{name: TaintToleration, weight: 9}]}}
  pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 7, minCandidateNodesAbsolute: 8}}]
- schedulerName: quiet
  plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}
extenders: [{urlPrefix: "http://a", bindVerb: bind}, {urlPrefix: "http://b", filterVerb: f}]
`))
	require.NoError(t, err)
	options, warnings, err := Options(c, Extending{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"profile packing: plugin Mine is left out at Filter: podberth does not have it",
		`profile packing: plugins.score.disabled[1].name: Invalid value: "Gone": there is no such plugin, so nothing is disabled`,
		"extender http://a: is not asked to bind",
	}, warnings)
	require.Equal(t, []any{int32(30), c.PodInitialBackoff, c.PodMaxBackoff}, []any{options.PercentageOfNodesToScore, options.InitialBackoff, *options.MaxBackoff})
	require.Len(t, options.Extenders, 2)
	p := options.Profiles[0]
	require.Equal(t, []any{"packing", int32(70)}, []any{p.SchedulerName, *p.PercentageOfNodesToScore})
	require.Nil(t, options.Profiles[1].PercentageOfNodesToScore)
	require.Equal(t, scheduler.PluginSet{Disabled: []string{"*"}}, p.Plugins[scheduler.MultiPoint])
	for _, at := range scheduler.Points() {
		require.Equal(t, []string{"*"}, p.Plugins[at].Disabled, at)
		var want []scheduler.PluginRef
		for _, e := range c.Profiles[0].Plugins[pointOf(at)] {
			if e.Name != "Mine" {
				want = append(want, scheduler.PluginRef{Name: e.Name, Weight: e.Weight})
			}
		}
		require.Equal(t, want, p.Plugins[at].Enabled, at)
		if at == scheduler.Filter || at == scheduler.Score || at == scheduler.Bind {
			require.NotEmpty(t, want, at)
		}
	}
	seven, eight := int32(7), int32(8)
	require.Equal(t, scheduler.PreemptionArgs{Options: preemption.Options{Candidates: preemption.CandidateArgs{MinPercentage: &seven, MinAbsolute: &eight}}}, p.Args["DefaultPreemption"])
	require.NotContains(t, options.Profiles[1].Args, "DefaultPreemption")
	require.Equal(t, c.Profiles[0].Plugin("NodeAffinity"), p.Args["NodeAffinity"])
	require.NotContains(t, p.Args, "PrioritySort")
	require.NotContains(t, p.Args, "Mine")
	require.Equal(t, config.Point(-1), pointOf(scheduler.MultiPoint))
	require.Equal(t, config.Bind, pointOf(scheduler.Bind))
	_, warnings, err = Options(c, Extending{Binds: true})
	require.NoError(t, err)
	require.Len(t, warnings, 2)
	c.Extenders[0].TLSConfig = &configv1.ExtenderTLSConfig{CAFile: "/none"}
	_, _, err = Options(c, Extending{})
	require.ErrorContains(t, err, "/none")
}

// The extenders of a configuration are the scheduler's, in their order and as they may be asked. One that offers to bind and may not has a warning.
func TestExtendersOfAConfiguration(t *testing.T) {
	c, err := config.Load([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://first", filterVerb: f}, {urlPrefix: "http://second", filterVerb: f, bindVerb: b}]
`))
	require.NoError(t, err)
	for _, binds := range []bool{false, true} {
		o, warnings, err := Options(c, Extending{Binds: binds})
		require.NoError(t, err)
		require.Len(t, o.Extenders, 2)
		require.Equal(t, []string{"http://first", "http://second"}, []string{o.Extenders[0].Name(), o.Extenders[1].Name()})
		require.Equal(t, binds, o.Extenders[1].Offers(scheduler.BindVerb))
		require.Equal(t, !binds, len(warnings) == 1, warnings)
	}
}
