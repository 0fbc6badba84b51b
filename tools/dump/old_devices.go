package dump

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/podberth/podberth/tools/shell"
)

// flatVersions are the versions of the group of devices in which a device has its fields in "basic", and a request those of v1's
// "exactly". v1beta2 has the fields of v1.
var flatVersions = []string{"v1alpha3", "v1beta1"}

// convertDevices returns an object of an older version of the group of devices as one of v1. The error names a version whose objects
// are not converted: those before v1alpha3, and taint rules of v1alpha3, whose selectors are others.
func convertDevices(kind, version string, data []byte) ([]byte, error) {
	if kind == taintRule || version != "v1beta2" && !slices.Contains(flatVersions, version) {
		return nil, fmt.Errorf("apiVersion: Unsupported value: %q: must be %s/v1; %s prints that", devices+"/"+version, devices,
			"kubectl get "+shell.Words(plural(kind)+".v1."+devices))
	}
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	tree["apiVersion"] = devices + "/v1"
	if version == "v1beta2" {
		return json.Marshal(tree)
	}
	spec := inside(tree, "spec")
	switch kind {
	case "ResourceClaimTemplate":
		spec = inside(spec, "spec")
		fallthrough
	case "ResourceClaim":
		each(inside(spec, "devices"), "requests", exactly)
	case "ResourceSlice":
		each(spec, "devices", func(device map[string]any) {
			for name, value := range inside(device, "basic") {
				device[name] = value
			}
			delete(device, "basic")
		})
	}
	return json.Marshal(tree)
}

// exactly moves the fields of a request for one class into "exactly". A request with alternatives has none of them.
func exactly(request map[string]any) {
	inner := map[string]any{}
	for _, name := range []string{"deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity"} {
		if value, has := request[name]; has {
			inner[name] = value
			delete(request, name)
		}
	}
	if len(inner) > 0 {
		request["exactly"] = inner
	}
}

// inside returns an object in a tree; nil when there is none.
func inside(tree map[string]any, name string) map[string]any {
	inner, _ := tree[name].(map[string]any)
	return inner
}

// each calls f for every object of a list in a tree.
func each(tree map[string]any, name string, f func(map[string]any)) {
	list, _ := tree[name].([]any)
	for _, item := range list {
		if object, is := item.(map[string]any); is {
			f(object)
		}
	}
}
