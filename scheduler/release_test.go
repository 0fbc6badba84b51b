package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/queue"
	"github.com/podberth/podberth/release"
	"github.com/podberth/podberth/release/plugins"
)

// eachRelease runs a test with every release. since reports whether the release is w or later.
func eachRelease(t *testing.T, rule string, test func(t *testing.T, o Options, since func(w release.Version) bool)) {
	t.Helper()
	for _, v := range release.Versions() {
		t.Run(rule+" "+v.String(), func(t *testing.T) { test(t, Options{Release: v}, v.AtLeast) })
	}
}

// probed returns the options with a profile that has probes and no other plugins at the points.
func probed(o Options, list []*probe, points ...Point) Options {
	p, reg := on(list, append([]Point{"-"}, points...)...)
	o.Profiles, o.Plugins = []Profile{p}, reg
	return o
}

// The default profile of each release, one by one and planned.
func TestProfilesOfReleases(t *testing.T) {
	eachRelease(t, "L2.1", func(t *testing.T, o Options, _ func(release.Version) bool) {
		for _, o.OneByOne = range []bool{false, true} {
			r := newRig(t, o, three())
			lists := r.s.Profile(v1.DefaultSchedulerName).ListPlugins()
			for _, at := range Points() {
				require.Equal(t, plugins.DefaultAt(o.Release, string(at)), namesOf(lists[at]), at)
			}
			for _, p := range lists[Score] {
				k := slices.IndexFunc(plugins.Default(o.Release), func(x plugins.Plugin) bool { return x.Name == p.Name })
				require.EqualValues(t, max(1, plugins.Default(o.Release)[k].Weight), p.Weight, p.Name)
			}
		}
	})
}

// What a pod with spec.nodeName hears of another node.
func TestNodeNameOfReleases(t *testing.T) {
	eachRelease(t, "L3.5", func(t *testing.T, o Options, since func(release.Version) bool) {
		want := "0/1 nodes are available: 1 node(s) didn't match the requested node name."
		if since(release.V1_37) {
			want = "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeName]."
		}
		for _, o.OneByOne = range []bool{false, true} {
			r := newRig(t, o, []*v1.Node{node("n1")})
			p := pod("p")
			p.Spec.NodeName, p.UID = "n2", "uid-p"
			require.NoError(t, r.s.queue.Add(p)) // no informer would report such a pod as pending
			r.step()
			require.Contains(t, r.last().Message, want)
		}
	})
}

func TestMessagesOfReleases(t *testing.T) {
	eachRelease(t, "L6.1", func(t *testing.T, o Options, since func(release.Version) bool) {
		for _, o.OneByOne = range []bool{false, true} {
			r := newRig(t, o, []*v1.Node{node("n1")})
			r.add(sized("p", "9")).step()
			want := "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
			if since(release.V1_37) {
				want = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
			}
			require.Equal(t, want, r.last().Message)
		}
	})
	eachRelease(t, "L6.2", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, p := fullNode(t, o, "a", "b")
		r.add(p).step()
		want := "0/1 nodes are available: 1 Insufficient cpu."
		if since(release.V1_37) {
			want += " preemption: found a potential placement for pod on node n1, preempting 2 victims"
		}
		require.Equal(t, want, r.results[0].Message)
	})
}

// The chosen node is announced before a binding that takes time.
func TestAnnouncementOfReleases(t *testing.T) {
	eachRelease(t, "L8.1", func(t *testing.T, o Options, since func(release.Version) bool) {
		_, list := probes(1)
		r := newRig(t, probed(o, list, PreBind), []*v1.Node{node("n1")})
		r.add(pod("p")).step()
		require.Equal(t, Scheduled, r.last().Outcome)
		require.Equal(t, since(release.V1_35), slices.Contains(r.patches, `p: nominated="n1"`))
	})
}

// What becomes of the nomination of a pod that is rejected, without PostFilter plugins.
func TestNominationOfReleases(t *testing.T) {
	eachRelease(t, "L8.3", func(t *testing.T, o Options, since func(release.Version) bool) {
		_, list := probes(1)
		list[0].answer[Filter] = u("no")
		r := newRig(t, probed(o, list, Filter), []*v1.Node{node("n1")})
		p := pod("p")
		p.Status.NominatedNodeName = "n1"
		r.add(p).step()
		want := "n1"
		if since(release.V1_35) {
			want = ""
		}
		require.Equal(t, want, r.pods["default/p"].Status.NominatedNodeName)
	})
}

func TestVictimsOfReleases(t *testing.T) {
	eachRelease(t, "L8.4", func(t *testing.T, o Options, since func(release.Version) bool) {
		leaving := testkit.Pod("default/a").On("n1").Priority(0).Request("cpu=4").Obj()
		leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
		r := newRig(t, o, []*v1.Node{node("n1")}, leaving)
		r.add(testkit.Pod("default/p").Priority(10).Request("cpu=4").Obj()).step()
		require.Equal(t, "n1", r.results[0].Nominated)
		if since(release.V1_35) {
			require.Empty(t, r.deleted)
		} else {
			require.Equal(t, []string{"a"}, r.deleted)
		}
	})
	eachRelease(t, "L8.4 gone", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, p := fullNode(t, o, "a", "b")
		r.failing["a"] = ErrGone // before its condition is written
		r.add(p).step()
		if since(release.V1_35) {
			require.Empty(t, r.errs)
		} else {
			require.ErrorIs(t, r.errs[0], ErrGone)
		}
	})
	eachRelease(t, "L8.5", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, p := fullNode(t, o, "a", "b")
		r.add(p)
		require.True(t, r.s.TryScheduleOne(ctx))
		other := func() { r.s.DeletePod(testkit.Pod("default/other").On("n1").Obj()) } // an event that p waits for
		places := map[string]queue.Place{}
		r.deleting = func(pod *v1.Pod) {
			other()
			places[pod.Name] = r.place(p)
		}
		r.work()
		require.Equal(t, queue.Gated, places["a"], "other victims are left")
		if since(release.V1_35) {
			require.Equal(t, queue.Gated, places["b"], "the last victim is there")
		} else {
			require.Equal(t, queue.Backoff, places["b"])
		}
		require.Equal(t, queue.Backoff, r.place(p), "all have left")
	})
	eachRelease(t, "L8.6", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, p := fullNode(t, o, "a", "b")
		r.failing["a"] = errors.New("forbidden")
		r.add(p).step()
		require.Equal(t, queue.Active, r.place(p))
		require.ErrorContains(t, r.errs[0], "preemption for default/p: forbidden")
		if since(release.V1_36) {
			require.Empty(t, r.deleted)
		} else {
			require.Equal(t, []string{"b"}, r.deleted)
		}
	})
}

// A victim that waits on Permit or is in PreBind.
func TestMemoryOfReleases(t *testing.T) {
	note := "low: Normal Preempted/Preempting Preempted by pod uid-default-high on node n1"
	eachRelease(t, "L6.4", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, _, _ := preemptedAt(t, o, Permit)
		want := note
		if since(release.V1_36) {
			want += " (in kube-scheduler memory)."
		}
		require.Contains(t, r.events, want)
	})
	eachRelease(t, "L8.7", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, low, _ := preemptedAt(t, o, Permit)
		r.work()
		require.Empty(t, r.deleted)
		if since(release.V1_36) {
			require.Equal(t, queue.ErrorBackoff, r.place(low))
		} else {
			require.Equal(t, queue.Unschedulable, r.place(low), "it waits for an event")
			require.Contains(t, r.last().Message, "1 preempted.")
		}
	})
	eachRelease(t, "L8.8", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, low, _ := preemptedAt(t, o, PreBind)
		if since(release.V1_36) {
			require.Empty(t, r.deleted)
			require.Equal(t, queue.ErrorBackoff, r.place(low))
		} else {
			require.Equal(t, []string{"low"}, r.deleted)
			require.Contains(t, r.events, note)
		}
	})
	eachRelease(t, "L8.8 preemptor", func(t *testing.T, o Options, since func(release.Version) bool) {
		r, _, high := preemptedAt(t, o, Permit)
		if since(release.V1_37) {
			require.Equal(t, queue.Active, r.place(high), "it need not wait for the victim's own failure")
		} else {
			require.Equal(t, queue.Unschedulable, r.place(high))
		}
	})
}

func TestPreBindOfReleases(t *testing.T) {
	eachRelease(t, "L9.1", func(t *testing.T, o Options, since func(release.Version) bool) {
		s, list := probes(2)
		list[0].parallel, list[1].parallel = true, true
		list[0].answer[PreBind] = bad
		r := newRig(t, probed(o, list, PreBind), []*v1.Node{node("n1")})
		r.add(pod("p")).step()
		require.Equal(t, `running PreBind plugin "A": broken`, r.last().Message)
		require.Equal(t, since(release.V1_36), strings.Contains(s.take(), "B.PreBind"), "one after the other, the second does not begin")
	})
}

// A pod of another UID has taken the name when the attempt fails.
func TestRecreatedOfReleases(t *testing.T) {
	eachRelease(t, "L9.4", func(t *testing.T, o Options, since func(release.Version) bool) {
		_, list := probes(1)
		r := newRig(t, probed(o, list, Filter), []*v1.Node{node("n1")})
		p := pod("p")
		r.add(p)
		list[0].answer[Filter] = u("no")
		c := *p
		c.UID = "other"
		list[0].do[Filter] = func() {
			r.mu.Lock()
			r.pods["default/p"] = &c
			r.mu.Unlock()
		}
		r.step()
		if since(release.V1_36) {
			require.Equal(t, queue.Nowhere, r.place(p))
			require.Empty(t, r.events)
		} else {
			require.Equal(t, queue.Unschedulable, r.place(&c))
			require.Len(t, r.events, 1)
		}
	})
}

// An assumed pod is deleted while it is being bound.
func TestDeletedOfReleases(t *testing.T) {
	eachRelease(t, "L9.5", func(t *testing.T, o Options, since func(release.Version) bool) {
		r := newRig(t, o, []*v1.Node{node("n1")})
		p := pod("p")
		r.add(p)
		require.True(t, r.s.TryScheduleOne(ctx))
		require.NoError(t, r.Delete(ctx, p))
		if since(release.V1_35) {
			require.Empty(t, r.on("n1"), "forgotten at once")
		} else {
			require.Equal(t, "p", r.on("n1"), "its binding goes on")
		}
		r.work()
		require.Equal(t, SchedulingError, r.last().Outcome)
		require.Empty(t, r.on("n1"))
	})
}

func TestBatchOfReleases(t *testing.T) {
	for _, each := range []bool{false, true} {
		eachRelease(t, "L10.1", func(t *testing.T, o Options, since func(release.Version) bool) {
			o.Profiles, o.OneByOne = []Profile{listed()}, each
			r, _ := batching(t, o)
			r.add(sized("p", "3")).step()
			r.add(sized("q", "3")).step()
			require.Equal(t, "n2", r.last().Node)
			want := 3
			if since(release.V1_35) {
				want = 1
			}
			require.Equal(t, want, r.last().Evaluated)
		})
		eachRelease(t, "L10.1 nominated", func(t *testing.T, o Options, since func(release.Version) bool) {
			o.Profiles, o.OneByOne = []Profile{listed()}, each
			r, count := batching(t, o)
			r.add(sized("p", "3")).step()
			count.batch()
			q := sized("q", "3")
			q.Status.NominatedNodeName = "n3"
			r.add(q).step()
			require.Equal(t, "n3", r.last().Node)
			require.Equal(t, since(release.V1_35) && !since(release.V1_37), count.batch()["hint_not_used"] == 1)
		})
	}
}
