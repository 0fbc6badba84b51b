package devices

import (
	"encoding/json"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/internal/key"
)

// contents gives equal numbers to devices that selectors cannot tell apart: those with equal driver, attributes, capacities
// and allowMultipleAllocations. So a selector is evaluated once for each number.
type contents map[string]int32

func (c contents) of(driver string, d *resourcev1.Device) int32 {
	b := key.Flag(key.Text(nil, driver), d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations)
	names := slices.Sorted(maps.Keys(d.Attributes))
	b = key.Texts(b, names)
	for _, name := range names {
		b = appendAttribute(b, d.Attributes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		b = appendAmount(key.Text(b, name), d.Capacity[name].Value)
	}
	id, ok := c[string(b)]
	if !ok {
		id = int32(len(c))
		c[string(b)] = id
	}
	return id
}

// kindOf gives equal numbers to devices with equal capacity, policies, counters, taints, taints of rules and allowMultipleAllocations.
func (c contents) kindOf(d *resourcev1.Device, ruled []resourcev1.DeviceTaint) int32 {
	key := ""
	if d.AllowMultipleAllocations != nil || len(d.Capacity)+len(d.ConsumesCounters)+len(d.Taints) > 0 {
		key = string(appendJSON(nil, resourcev1.Device{AllowMultipleAllocations: d.AllowMultipleAllocations, Capacity: d.Capacity, ConsumesCounters: d.ConsumesCounters, Taints: d.Taints}))
	}
	if len(ruled) > 0 {
		key += string(appendJSON([]byte{0}, ruled))
	}
	id, ok := c[key]
	if !ok {
		id = int32(len(c))
		c[key] = id
	}
	return id
}

func appendAttribute(b []byte, a resourcev1.DeviceAttribute) []byte {
	b = key.Optional(key.Optional(b, a.IntValue, key.Int), a.BoolValue, key.Flag)
	b = key.Optional(key.Optional(b, a.StringValue, key.Text), a.VersionValue, key.Text)
	b = key.Len(b, len(a.IntValues))
	for _, x := range a.IntValues {
		b = key.Int(b, x)
	}
	b = key.Len(b, len(a.BoolValues))
	for _, x := range a.BoolValues {
		b = key.Flag(b, x)
	}
	return key.Texts(key.Texts(b, a.StringValues), a.VersionValues)
}

// appendAmount appends a quantity with its notation, which a selector sees.
func appendAmount(b []byte, q resource.Quantity) []byte { return key.Text(b, q.String()) }

// appendJSON appends a part of an API object as JSON. There is no error: JSON has every value of the API's types.
func appendJSON(b []byte, part any) []byte {
	text, _ := json.Marshal(part)
	return append(b, text...)
}
