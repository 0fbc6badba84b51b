package devices

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	resourcev1 "k8s.io/api/resource/v1"
)

// contents gives equal numbers to devices that selectors cannot tell apart: those with equal driver, attributes, capacities
// and allowMultipleAllocations. So a selector is evaluated once for each number.
type contents map[string]int32

func (c contents) of(driver string, d *resourcev1.Device) int32 {
	b := strconv.AppendQuote(nil, driver)
	b = strconv.AppendBool(b, d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations)
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		b = appendAttribute(strconv.AppendQuote(b, string(name)), d.Attributes[name])
	}
	b = append(b, '|')
	for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
		value := d.Capacity[name].Value
		b = strconv.AppendQuote(strconv.AppendQuote(b, string(name)), value.String())
	}
	id, ok := c[string(b)]
	if !ok {
		id = int32(len(c))
		c[string(b)] = id
	}
	return id
}

// kindOf gives equal numbers to devices with equal capacity, policies, counters, taints and allowMultipleAllocations.
func (c contents) kindOf(d *resourcev1.Device) int32 {
	key := ""
	if d.AllowMultipleAllocations != nil || len(d.Capacity)+len(d.ConsumesCounters)+len(d.Taints) > 0 {
		b, err := json.Marshal(resourcev1.Device{AllowMultipleAllocations: d.AllowMultipleAllocations, Capacity: d.Capacity, ConsumesCounters: d.ConsumesCounters, Taints: d.Taints})
		if err != nil {
			return -1 - int32(len(c)) // cannot happen for an object of the API; the device is then equal to none
		}
		key = string(b)
	}
	id, ok := c[key]
	if !ok {
		id = int32(len(c))
		c[key] = id
	}
	return id
}

func appendAttribute(b []byte, a resourcev1.DeviceAttribute) []byte {
	if a.IntValue != nil {
		b = strconv.AppendInt(append(b, 'i'), *a.IntValue, 10)
	}
	if a.BoolValue != nil {
		b = strconv.AppendBool(append(b, 'b'), *a.BoolValue)
	}
	if a.StringValue != nil {
		b = strconv.AppendQuote(append(b, 's'), *a.StringValue)
	}
	if a.VersionValue != nil {
		b = strconv.AppendQuote(append(b, 'v'), *a.VersionValue)
	}
	for _, x := range a.IntValues {
		b = strconv.AppendInt(append(b, 'I'), x, 10)
	}
	for _, x := range a.BoolValues {
		b = strconv.AppendBool(append(b, 'B'), x)
	}
	for _, x := range a.StringValues {
		b = strconv.AppendQuote(append(b, 'S'), x)
	}
	for _, x := range a.VersionValues {
		b = strconv.AppendQuote(append(b, 'V'), x)
	}
	return append(b, ';')
}
