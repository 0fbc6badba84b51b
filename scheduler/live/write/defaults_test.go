package write

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/podberth/podberth/scheduler"
)

// known is a view of one pod.
type known struct{ pod *v1.Pod }

func (k known) Pod(namespace, name string) *v1.Pod {
	if k.pod == nil || k.pod.Namespace != namespace || k.pod.Name != name {
		return nil
	}
	return k.pod
}
func (known) Reported(_, _, _ string) metav1.Object { return nil }
func (known) Changed() <-chan struct{}              { return nil }

// Options that are zero get their defaults, others stay.
func TestDefaults(t *testing.T) {
	c := New(fake.NewClientset(), known{}, Options{})
	defer c.Close()
	require.Equal(t, 30*time.Second, c.o.Timeout)
	require.Equal(t, []time.Duration{10 * time.Millisecond, 50 * time.Millisecond, 250 * time.Millisecond}, c.o.Retry)
	require.Equal(t, []time.Duration{time.Second, 10 * time.Second}, []time.Duration{c.o.DeleteBackoff, c.o.DeleteBackoffLimit})
	require.NotPanics(t, func() { c.o.OnError(errors.New("nobody wants to know")) })
	require.Equal(t, Waits{Volumes: 10 * time.Minute, Devices: 10 * time.Minute}, c.o.waits(&v1.Pod{}))

	given := Options{Timeout: 1, Retry: []time.Duration{}, DeleteBackoff: 2, DeleteBackoffLimit: 3, Waits: map[string]Waits{"a": {4, 5}}}
	c = New(fake.NewClientset(), known{}, given)
	defer c.Close()
	require.Equal(t, given.Timeout, c.o.Timeout)
	require.Empty(t, c.o.Retry)
	require.Equal(t, []time.Duration{2, 3}, []time.Duration{c.o.DeleteBackoff, c.o.DeleteBackoffLimit})
	require.Equal(t, Waits{4, 5}, c.o.waits(&v1.Pod{Spec: v1.PodSpec{SchedulerName: "a"}}))
}

// The client's pods are the informer's.
func TestClientPod(t *testing.T) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	c := New(fake.NewClientset(), known{p}, Options{})
	defer c.Close()
	require.Same(t, p, c.Pod("a", "b"))
	require.Nil(t, c.Pod("b", "a"))
}

// The client remembers the newest 4,096 pods that it has tried to nominate.
func TestNominationsKept(t *testing.T) {
	c := New(fake.NewClientset(), known{}, Options{Retry: []time.Duration{}})
	defer c.Close()
	node, none := "n", ""
	for k := range nominations + 1 {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(strconv.Itoa(k))}}
		c.nominated.Add(pod.UID, nil)
	}
	patch := scheduler.StatusPatch{NominatedNode: &none}
	require.Equal(t, 4096, c.nominated.Len())
	require.False(t, c.unseen(patch, "0"))
	require.True(t, c.unseen(patch, "1"))
	require.False(t, c.unseen(scheduler.StatusPatch{NominatedNode: &node}, "1"), "only the end of a nomination is looked for")
	require.False(t, c.unseen(scheduler.StatusPatch{}, "1"))
}

// A version is a number, and 0 if it is opaque.
func TestVersion(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "x": 0, "0": 0, "9": 9, "10": 10, "89": 89, fmt.Sprint(math.MaxInt64): math.MaxInt64, "9223372036854775808": 0,
	} {
		require.Equal(t, want, version(&v1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: text}}), text)
	}
}

// The API server is done with a binding a tenth of the time-out after the end of the request.
func TestBindOnceIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
		c := New(fake.NewClientset(pod), known{}, Options{})
		defer c.Run(closed(t), 1) // ends what New has started
		defer c.Close()
		over, err := c.bindOnce(pod, "n")
		require.NoError(t, err)
		require.Equal(t, 33*time.Second, time.Until(over))
		c.Until(time.Now().Add(10 * time.Second))
		over, err = c.bindOnce(pod, "n")
		require.NoError(t, err)
		require.Equal(t, 13*time.Second, time.Until(over))
	})
}
