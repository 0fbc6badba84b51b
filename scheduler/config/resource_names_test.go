package config

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"
)

func TestCheckNames(t *testing.T) {
	var list []configv1.ResourceSpec
	for _, name := range []string{"CPU", "Memory", "intel.com/foo", "pods", "cpu", "hugepages-2Mi", "ephemeral-storage"} {
		list = append(list, configv1.ResourceSpec{Name: name, Weight: 1})
	}
	var got []string
	for _, err := range checkNames(list, field.NewPath("resources")) {
		got = append(got, err.Error())
	}
	require.Equal(t, []string{
		`resources[0].name: Invalid value: "CPU": matches no resource: names are case-sensitive, use "cpu"`,
		`resources[1].name: Invalid value: "Memory": matches no resource: names are case-sensitive, use "memory"`,
		`resources[3].name: Invalid value: "pods": matches no resource: must be cpu, memory, ephemeral-storage, an extended resource or hugepages-<size>`,
	}, got)
}
