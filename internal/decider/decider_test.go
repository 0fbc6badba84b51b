package decider

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/placement"
)

func TestProfile(t *testing.T) {
	names := func(p placement.Profile) (out []string) {
		for _, f := range p.Filters {
			out = append(out, f.Name)
		}
		for _, s := range p.Scores {
			out = append(out, s.Plugin.Name)
		}
		return out
	}
	whole := placement.DefaultProfile()
	filters, scores := placement.Profile{Filters: whole.Filters[:2]}, placement.Profile{Scores: whole.Scores[:1]}
	some := filter.Sampling{Global: 30}

	type test struct {
		name, why string
		in        placement.Profile
		names     []string
		sampling  filter.Sampling
		scheduler string
	}
	testkit.Run(t, []test{
		{"empty", "the default profile, every node", placement.Profile{}, names(whole), placement.AllNodes(), ""},
		{"a name", "stays", placement.Profile{SchedulerName: "mine"}, names(whole), placement.AllNodes(), "mine"},
		{"sampling", "stays", placement.Profile{Sampling: some}, names(whole), some, ""},
		{"filters alone", "are a profile", filters, names(filters), filter.Sampling{}, ""},
		{"scores alone", "are a profile", scores, names(scores), filter.Sampling{}, ""},
	}, func(t *testing.T, c test) {
		got, err := Profile("plan", "every plan", c.in)
		require.NoError(t, err)
		require.Equal(t, c.names, names(got))
		require.Equal(t, c.sampling, got.Sampling)
		require.Equal(t, c.scheduler, got.SchedulerName)
	})
}

func TestProfileErrors(t *testing.T) {
	_, err := Profile("plan", "every plan", placement.Profile{Volumes: &placement.Volumes{}})
	require.EqualError(t, err, "plan: profile.Volumes: Forbidden: every plan has volumes of its own")
	_, err = Profile("plan", "every plan", placement.Profile{Scores: []placement.Weighted{{}}})
	require.Error(t, err, "those of Profile.Validate")
	_, err = Profile("plan", "every plan", placement.Profile{Devices: &tracker.Tracker{}})
	require.EqualError(t, err, "plan: profile.Devices: Forbidden: every plan has devices of its own")
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		profile, pod string
		want         bool
	}{
		{"", "", true}, {"", "default-scheduler", true}, {"default-scheduler", "", true}, {"mine", "mine", true},
		{"mine", "", false}, {"", "mine", false},
	} {
		pod := testkit.Pod("p").Obj()
		pod.Spec.SchedulerName = c.pod
		require.Equal(t, c.want, Schedules(placement.Profile{SchedulerName: c.profile}, pod), "%q and %q", c.profile, c.pod)
	}
}
