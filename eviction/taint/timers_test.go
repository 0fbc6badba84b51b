package taint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/internal/testkit"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

// taintsOf reads NoExecute taints "x y=v". A name with ":" has its own effect. "-" means no taint.
func taintsOf(s string) []v1.Taint {
	var list []v1.Taint
	for _, f := range strings.Fields(s) {
		if f == "-" {
			continue
		}
		f, effect, ok := strings.Cut(f, ":")
		if !ok {
			effect = "NoExecute"
		}
		key, value, _ := strings.Cut(f, "=")
		list = append(list, v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)})
	}
	return list
}

// tolerationsOf reads tolerations {key Exists NoExecute seconds} "x:3 y:inf". "-" means no toleration.
func tolerationsOf(s string) []v1.Toleration {
	var list []v1.Toleration
	for _, f := range strings.Fields(s) {
		if f == "-" {
			continue
		}
		key, seconds, _ := strings.Cut(f, ":")
		t := v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute}
		if seconds != "inf" {
			n, err := strconv.ParseInt(seconds, 10, 64)
			if err != nil {
				panic(err)
			}
			t.TolerationSeconds = &n
		}
		list = append(list, t)
	}
	return list
}

func nodeWith(name string, list []v1.Taint) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{Taints: list}}
}

func podOn(node, name string, tolerations []v1.Toleration) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName, p.Spec.Tolerations = node, tolerations
	return p
}

// play drives timers with a script and returns the log of actions until the given second. Lines of the script:
//
//	0 taints x y     1 pod x:3 y:inf     1 delete node     1 delete pod     1 new pod x:3
func play(t *testing.T, tolerations, script string, until float64, o Options) string {
	t.Helper()
	timers := NewTimers(o)
	var log []string
	write := func(actions []Action) {
		for _, a := range actions {
			line := fmt.Sprintf("%v %v", a.At.Sub(start).Seconds(), a.What)
			if a.What == EntryStarted || a.What == EntryMoved {
				line += fmt.Sprintf(" %v", a.Fire.Sub(start).Seconds())
			}
			log = append(log, line)
		}
	}
	write(timers.SetPod(podOn("n", "p", tolerationsOf(tolerations)), start.Add(-time.Second)))
	advance := func(now time.Time) {
		for {
			next, ok := timers.Next()
			if !ok || next.After(now) {
				return
			}
			actions := timers.Advance(next)
			write(actions)
			for _, a := range actions {
				write(timers.DeletePod(a.Pod, next))
			}
		}
	}
	for line := range strings.SplitSeq(script, ";") {
		when, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		seconds, err := strconv.ParseFloat(when, 64)
		require.NoError(t, err)
		now := at(seconds)
		advance(now)
		switch {
		case strings.HasPrefix(what, "taints "):
			n := nodeWith("n", taintsOf(what[7:]))
			testkit.Unchanged(t, func() { write(timers.SetNode(n, now)) }, n)
		case strings.HasPrefix(what, "pod "):
			p := podOn("n", "p", tolerationsOf(what[4:]))
			testkit.Unchanged(t, func() { write(timers.SetPod(p, now)) }, p)
		case strings.HasPrefix(what, "new pod "):
			p := podOn("n", "p", tolerationsOf(what[8:]))
			p.UID = "again"
			write(timers.SetPod(p, now))
		case what == "delete node":
			timers.DeleteNode("n")
		case what == "delete pod":
			write(timers.DeletePod(types.NamespacedName{Namespace: "d", Name: "p"}, now))
		default:
			t.Fatalf("script: %q", line)
		}
	}
	advance(at(until))
	return strings.Join(log, "; ")
}

func TestTimers(t *testing.T) {
	recompute := Options{RecomputeOnChange: true}
	type test struct {
		name, tolerations, script, want string
		o                               Options
		why                             string
	}
	cases := []test{
		{"T-60", "a:6 b:1", "0 taints a; 1 taints a b", "0 started 6; 6 evicted", Options{}, "another taint with a shorter limit does not shorten the time"},
		{"T-61", "a:3 b:10", "0 taints a; 1 taints b", "0 started 3; 3 evicted", Options{}, "the time survives the taint that set it"},
		{"T-62", "a:3", "0 taints a; 1 taints a z", "0 started 3; 1 cancelled; 1 evicted", Options{}, "an untolerated taint deletes at once"},
		{"T-63", "a:3", "0 taints a; 1 taints -; 2 taints a", "0 started 3; 1 cancelled; 2 started 5; 5 evicted", Options{}, "removed and added again: a new time"},
		{"T-64", "a:6", "0 taints a; 1 pod a:2", "0 started 6; 6 evicted", Options{}, "a shorter toleration does not shorten the time"},
		{"T-64 zero", "a:6", "0 taints a; 1 pod a:0", "0 started 6; 6 evicted", Options{}, "not even 0"},
		{"T-65", "a:3", "0 taints a; 1 pod a:inf", "0 started 3; 1 cancelled", Options{}, "tolerated for ever"},

		{"8.1 kept", "key1:3600", "0 taints key1=value1", "0 started 3600; 3600 evicted", Options{}, "an hour"},
		{"8.1 removed", "key1:3600", "0 taints key1=value1; 3599 taints -", "0 started 3600; 3599 cancelled", Options{}, "removed in time"},
		{"8.2", "key1:inf", "0 taints key1=value1:NoSchedule key1=value1 key2=value2:NoSchedule", "", Options{}, "the NoSchedule taint is irrelevant"},
		{"8.3", "node.kubernetes.io/unreachable:6000", "0 taints node.kubernetes.io/unreachable", "0 started 6000; 6000 evicted", Options{}, "100 minutes"},
		{"8.4 none", "-", "0 taints x", "0 evicted", Options{}, "not tolerated"},
		{"8.4 zero", "x:0", "0 taints x", "0 evicted", Options{}, "0 without a timer is at once"},
		{"8.4 negative", "x:-5", "0 taints x", "0 evicted", Options{}, "negative is 0"},
		{"8.5 limited first", "x:2 x:inf", "0 taints x", "0 started 2; 2 evicted", Options{}, "the first counts"},
		{"8.5 unlimited first", "x:inf x:1", "0 taints x", "", Options{}, "the first counts"},
		{"8.6", "x:3 y:1 z:inf", "0 taints x y z", "0 started 1; 1 evicted", Options{}, "minimum"},
		{"8.7", "x:5 y:1", "0 taints x; 1 taints x y", "0 started 5; 5 evicted", Options{}, "not 2"},
		{"8.8 shorter", "x:5", "0 taints x; 1 pod x:2", "0 started 5; 5 evicted", Options{}, "keeps"},
		{"8.8 longer", "x:3", "0 taints x; 1 pod x:6", "0 started 3; 3 evicted", Options{}, "keeps"},
		{"8.8 infinite", "x:3", "0 taints x; 1 pod x:inf", "0 started 3; 1 cancelled", Options{}, "cancelled"},
		{"8.9", "x:3 y:6", "0 taints x y; 1 taints y", "0 started 3; 3 evicted", Options{}, "keeps although x is gone"},
		{"8.10", "x:3", "0 taints x; 1 taints -; 2 taints x", "0 started 3; 1 cancelled; 2 started 5; 5 evicted", Options{}, "a new time"},
		{"8.11", "node.kubernetes.io/not-ready:3 node.kubernetes.io/unreachable:3", "0 taints node.kubernetes.io/not-ready; 1 taints node.kubernetes.io/unreachable",
			"0 started 3; 3 evicted", Options{}, "a swap keeps the time"},
		{"8.12", "x:3", "0 taints x; 1 taints x u", "0 started 3; 1 cancelled; 1 evicted", Options{}, "cancel, then delete"},
		{"8.13", "x:3", "0 taints x; 1 delete node", "0 started 3; 3 evicted", Options{}, "the time of a deleted node's pod runs on"},

		{"same moment", "x:3", "0 taints x; 0 pod x:5", "0 started 3; 0 cancelled; 0 started 5; 5 evicted", Options{}, "created at exactly now: replaced"},
		{"same moment zero", "x:3", "0 taints x; 0 pod x:0", "0 started 3; 0 cancelled; 0 evicted", Options{}, "created at exactly now: replaced by now"},
		{"pod deleted", "x:3", "0 taints x; 1 delete pod", "0 started 3; 1 cancelled", Options{}, "as any timer that is stopped"},
		{"pod recreated", "x:3", "0 taints x; 1 new pod x:3", "0 started 3; 1 cancelled; 1 started 4; 4 evicted", Options{}, "another UID is another pod"},
		{"bound to tainted node", "x:3", "0 taints x; 0 delete pod; 2 pod x:3", "0 started 3; 0 cancelled; 2 started 5; 5 evicted", Options{}, "counts from the pod"},
		{"value changed", "x:3", "0 taints x=1; 1 taints x=2", "0 started 3; 3 evicted", Options{}, "evaluated again, kept"},
		{"huge", "x:10000000000", "0 taints x", "", Options{}, "beyond a Duration: for ever"},
		{"not removed in time", "x:3", "0 taints x; 3 taints -", "0 started 3; 3 evicted", Options{}, "due at exactly now"},
		{"after deletion of node", "x:3", "0 taints x; 1 delete node; 2 pod x:inf", "0 started 3; 3 evicted", Options{}, "node unknown: the timer stays"},

		{"recompute shorter", "x:5", "0 taints x; 1 pod x:2", "0 started 5; 1 moved 2; 2 evicted", recompute, "start plus the new limit"},
		{"recompute longer", "x:3", "0 taints x; 1 pod x:6", "0 started 3; 1 moved 6; 6 evicted", recompute, "start plus the new limit"},
		{"recompute past", "x:5", "0 taints x; 3 pod x:2", "0 started 5; 3 cancelled; 3 evicted", recompute, "the new time is over"},
		{"recompute taint gone", "x:3 y:6", "0 taints x y; 1 taints y", "0 started 3; 1 moved 6; 6 evicted", recompute, "the limit that is left"},
		{"recompute same", "x:3", "0 taints x=1; 1 taints x=2", "0 started 3; 3 evicted", recompute, "nothing moves"},
	}
	testkit.Run(t, cases, func(t *testing.T, c test) {
		require.Equal(t, c.want, play(t, c.tolerations, c.script, 20000, c.o))
	})
}

func TestTimeAdded(t *testing.T) {
	added := taintsOf("x")
	hourAgo := metav1.NewTime(at(-3600))
	added[0].TimeAdded = &hourAgo
	pod := podOn("n", "p", tolerationsOf("x:2"))
	t.Run("T-66", func(t *testing.T) {
		timers := NewTimers(Options{})
		timers.SetNode(nodeWith("n", added), start)
		actions := timers.SetPod(pod, start)
		require.Len(t, actions, 1)
		require.Equal(t, at(2), actions[0].Fire, "TimeAdded is ignored")
	})
	t.Run("option", func(t *testing.T) {
		timers := NewTimers(Options{UseTimeAdded: true})
		timers.SetNode(nodeWith("n", added), start)
		require.Equal(t, EntryEvicted, timers.SetPod(pod, start)[0].What, "the time is over")
		late := podOn("n", "q", tolerationsOf("x:3700"))
		require.Equal(t, at(100), timers.SetPod(late, start)[0].Fire, "counted from TimeAdded")
		restarted := NewTimers(Options{UseTimeAdded: true})
		restarted.SetNode(nodeWith("n", added), at(50))
		require.Equal(t, at(100), restarted.SetPod(late, at(50))[0].Fire, "a restart gives the same end")
	})
	t.Run("restart", func(t *testing.T) {
		timers := NewTimers(Options{})
		timers.SetNode(nodeWith("n", taintsOf("x")), at(50))
		require.Equal(t, at(52), timers.SetPod(pod, at(50))[0].Fire, "the time begins again")
	})
}

func TestChangesThatDoNotMatter(t *testing.T) {
	timers := NewTimers(Options{})
	n := nodeWith("n", taintsOf("x"))
	require.Empty(t, timers.SetNode(n, start))
	require.Empty(t, timers.SetPod(podOn("", "pending", nil), start), "no node: nothing")
	require.Empty(t, timers.SetPod(podOn("elsewhere", "unknown", nil), start), "unknown node: nothing")
	pod := podOn("n", "p", tolerationsOf("x:3"))
	require.Len(t, timers.SetPod(pod, start), 1)
	relabelled := pod.DeepCopy()
	relabelled.Labels = map[string]string{"a": "b"}
	relabelled.Status.Phase = v1.PodFailed
	require.Empty(t, timers.SetPod(relabelled, start), "labels and status: nothing, at the very same moment")
	n = n.DeepCopy()
	n.Spec.Taints = append(n.Spec.Taints, taintsOf("soft:PreferNoSchedule hard:NoSchedule")...)
	require.Empty(t, timers.SetNode(n, start), "other effects: nothing, at the very same moment")
	require.Equal(t, at(3), timers.timer(types.NamespacedName{Namespace: "d", Name: "p"}).Fire)
	require.False(t, timers.timer(types.NamespacedName{Namespace: "d", Name: "none"}).Running())
}

func TestNobodyIsExempt(t *testing.T) {
	timers := NewTimers(Options{})
	timers.SetNode(nodeWith("n", taintsOf("x")), start)
	critical := int32(2000001000)
	now := metav1.NewTime(start)
	pods := map[string]func(*v1.Pod){
		"finished":    func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded },
		"terminating": func(p *v1.Pod) { p.DeletionTimestamp = &now },
		"mirror":      func(p *v1.Pod) { p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"} },
		"daemon":      func(p *v1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet"}} },
		"critical":    func(p *v1.Pod) { p.Spec.Priority = &critical },
	}
	for name, change := range pods {
		p := podOn("n", name, nil)
		change(p)
		actions := timers.SetPod(p, start)
		require.Len(t, actions, 1, name)
		require.Equal(t, EntryEvicted, actions[0].What, name)
	}
}

func TestTexts(t *testing.T) {
	a := Action{What: EntryCancelled, Pod: types.NamespacedName{Namespace: "ns", Name: "p"}}
	require.Equal(t, "Cancelling deletion of Pod ns/p", a.Event())
	a.What = EntryEvicted
	require.Equal(t, "Marking for deletion Pod ns/p", a.Event())
	require.Equal(t, v1.PodCondition{Type: "DisruptionTarget", Status: "True", Reason: "DeletionByTaintManager",
		Message: "Taint manager: deleting due to NoExecute taint"}, a.Condition())
	a.What = EntryStarted
	require.Empty(t, a.Event())
	require.Equal(t, "TaintManagerEviction", EventReason)
}

// TestOrder: pods of one node are evaluated by namespace and name, and timers of one moment end in that order.
func TestOrder(t *testing.T) {
	timers := NewTimers(Options{})
	for _, name := range []string{"c", "a", "b"} {
		timers.SetPod(podOn("n", name, tolerationsOf("x:3")), start)
	}
	names := func(actions []Action) (s string) {
		for _, a := range actions {
			s += a.Pod.Name
		}
		return s
	}
	require.Equal(t, "abc", names(timers.SetNode(nodeWith("n", taintsOf("x")), start)))
	require.Empty(t, timers.Advance(at(2.9)))
	next, ok := timers.Next()
	require.True(t, ok)
	require.Equal(t, at(3), next)
	require.Equal(t, "abc", names(timers.Advance(at(10))))
	_, ok = timers.Next()
	require.False(t, ok)
}
