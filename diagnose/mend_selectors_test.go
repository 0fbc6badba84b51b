package diagnose

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/internal/testkit"
)

// What a selector of devices most likely means: the domain that it leaves out, the comparison that amounts have, and names that devices have.
func TestMeantSelector(t *testing.T) {
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com", Devices: []resourcev1.Device{{
		Name: "d", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"type": {StringValue: new("gpu")}, "productName": {StringValue: new("NVIDIA A100")}, "pci.example.com/root": {StringValue: new("r0")}},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
	}}}}
	s, err := cluster.New(cluster.Objects{ResourceSlices: []*resourcev1.ResourceSlice{slice}})
	require.NoError(t, err)
	o := offersOf(s)
	type test struct{ name, why, from, to string }
	testkit.Run(t, []test{
		{"domain", "an attribute is read as the API writes it", `device.attributes["type"].string == "gpu"`, `device.attributes["gpu.nvidia.com"].type == "gpu"`},
		{"a name with its domain", "both are in the brackets", `device.attributes["pci.example.com/root"].string == "r0"`, `device.attributes["pci.example.com"].root == "r0"`},
		{"amount", "amounts have no operators", `device.capacity["memory"].quantity >= quantity("40Gi")`, `device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0`},
		{"amount of a domain", "the field is right", `device.capacity["gpu.nvidia.com"].memory < quantity("40Gi")`, `device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) < 0`},
		{"name", "a typing error", `device.attributes["gpu.nvidia.com"].productname == "NVIDIA A100"`, `device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100"`},
		{"value", "a typing error", `device.attributes["gpu.nvidia.com"].productName == "NVIDIA a100"`, `device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100"`},
		{"driver", "the domain has a typing error", `device.attributes["gpu.nvidea.com"].type == "gpu"`, `device.attributes["gpu.nvidia.com"].type == "gpu"`},
		{"right", "nothing is to be mended", `device.attributes["gpu.nvidia.com"].type == "gpu"`, `device.attributes["gpu.nvidia.com"].type == "gpu"`},
		{"unlike", "no model looks like it", `device.attributes["gpu.nvidia.com"].productName == "H200"`, `device.attributes["gpu.nvidia.com"].productName == "H200"`},
		{"unknown", "no device has such an attribute", `device.attributes["colour"].string == "red"`, `device.attributes["colour"].string == "red"`},
		{"another", "the value of a comparison that is not ==", `device.attributes["gpu.nvidia.com"].productName != "nvidia-a100"`, `device.attributes["gpu.nvidia.com"].productName != "nvidia-a100"`},
	}, func(t *testing.T, c test) {
		require.Equal(t, c.to, o.meant(c.from))
		require.Equal(t, c.to, o.meant(c.to), "what is mended stays")
	})
}
