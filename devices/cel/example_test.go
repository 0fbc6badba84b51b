package cel_test

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
)

// A selector asks for a model of GPU.
func ExampleCompiler_Compile() {
	s, err := cel.NewCompiler().Compile(`device.attributes["gpu.example.com"].model == "a100"`)
	if err != nil {
		panic(err)
	}
	model := "a100"
	fmt.Println(s.Matches(devices.Device{
		Driver:     "gpu.example.com",
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}},
	}))
	// Output: true <nil>
}
