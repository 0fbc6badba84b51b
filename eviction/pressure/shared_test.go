package pressure

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What is returned is the caller's: a later write into it changes neither the policy nor the state nor the pod.
func TestNothingIsShared(t *testing.T) {
	Signals()[0] = "x"
	require.Equal(t, memoryAvailable, Signals()[0])

	p := compile(t, Config{EvictionHard: map[string]string{"memory.available": "1Gi", "containerfs.available": "1Gi"}}, Options{})
	require.Len(t, p.Warnings(), 1)
	p.Warnings()[0] = "x"
	require.NotEqual(t, "x", p.Warnings()[0])

	o := Observation{Layout: singleFilesystem, Signals: measured(memoryAvailable, "1Mi", "10Gi", epoch)}
	_, d := p.Observe(State{Layout: singleFilesystem}, o, epoch)
	want := []v1.NodeConditionType{v1.NodeMemoryPressure}
	require.Equal(t, want, d.Conditions)
	next, d := p.Observe(State{Layout: singleFilesystem}, o, epoch)
	d.Conditions[0] = "x"
	require.Equal(t, want, next.Conditions)

	state := State{Conditions: []v1.NodeConditionType{v1.NodeMemoryPressure}}
	_, d = p.Observe(state, Observation{}, epoch) // the layout is unknown
	d.Conditions[0] = "x"
	_, d = compile(t, Config{IgnoreLocalStorage: true}, Options{}).Observe(state, Observation{}, epoch)
	d.Conditions[0] = "x"
	require.Equal(t, want, state.Conditions)

	value := thresholdValue{Quantity: resource.MustParse("123456789012345678901")}
	amount := value.amount(0, Options{})
	amount.Add(amount)
	require.Zero(t, value.Quantity.Cmp(resource.MustParse("123456789012345678901")))

	whole := pod("p", 0, "")
	whole.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: value.Quantity}}
	whole.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1")}
	request(whole, v1.ResourceMemory)
	// a printed amount remembers its text, so the amounts are compared
	require.Zero(t, whole.Spec.Resources.Requests.Memory().Cmp(resource.MustParse("123456789012345678901")), "overhead is added to a copy")
}
