package pressure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/eviction/pressure"
)

// The first difference between two pods is the reason for their order.
func TestPlaces(t *testing.T) {
	at := func(second int64) *v1.Pod {
		start := metav1.NewTime(time.Unix(second, 0))
		return &v1.Pod{Status: v1.PodStatus{StartTime: &start}}
	}
	measured := pressure.Ranked{Pod: at(1), Measured: true, Usage: 5, Request: 3}
	with := func(change func(r *pressure.Ranked)) pressure.Ranked {
		r := measured
		change(&r)
		return r
	}
	over := with(func(r *pressure.Ranked) { r.Exceeds, r.Priority = true, 1 })
	for _, c := range []struct {
		signal pressure.Signal
		a, b   pressure.Ranked
		want   string
	}{
		{"memory.available", with(func(r *pressure.Ranked) { r.Measured = false }), over, "has statistics"},
		{"pid.available", with(func(r *pressure.Ranked) { r.Measured = false }), over, "priority 1 after 0"},
		{"pid.available", with(func(r *pressure.Ranked) { r.Measured = false }), measured, "has statistics"},
		{"memory.available", over, measured, "within its request"},
		{"pid.available", over, measured, "priority 0 after 1"},
		{"memory.available", measured, over, "priority 1 after 0"},
		{"memory.available", measured, with(func(r *pressure.Ranked) { r.Usage = 4 }), "more of its request is left"},
		{"memory.available", measured, with(func(r *pressure.Ranked) { r.Usage, r.Exceeds = 4, true }), "less above its request"},
		{"pid.available", measured, with(func(r *pressure.Ranked) { r.Usage, r.Exceeds = 4, true }), "fewer processes"},
		{"nodefs.inodesFree", measured, with(func(r *pressure.Ranked) { r.Request = 4 }), "fewer inodes, less its ephemeral-storage request in bytes"},
		{"memory.available", measured, with(func(r *pressure.Ranked) { r.Usage, r.Request, r.Pod = 6, 4, at(2) }), "started earlier"},
		{"memory.available", measured, with(func(r *pressure.Ranked) { r.Pod = &v1.Pod{} }), "started earlier"},
		{"memory.available", measured, with(func(r *pressure.Ranked) { r.Pod = at(1) }), "by name"},
		{"pid.available", measured, with(func(r *pressure.Ranked) { r.Usage, r.Request = 6, 4 }), "by name"},
		{"nodefs.inodesFree", measured, with(func(r *pressure.Ranked) { r.Usage, r.Request = 6, 4 }), "by name"},
	} {
		require.Equal(t, c.want, behind(c.signal, &c.a, &c.b), "%s: %+v, %+v", c.signal, c.a, c.b)
	}
}
