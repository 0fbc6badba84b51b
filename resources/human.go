package resources

import (
	"math/bits"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Human returns n of a resource as people write it: "2" or "500m" of cpu, whose unit is thousandths; "48Gi" or "30.5Gi" of
// resources that are counted in bytes, with at most two decimals, rounded down; and whole numbers of every other resource.
func Human(name string, n int64) string {
	switch {
	case name == "cpu" && n%1000 == 0:
		return strconv.FormatInt(n/1000, 10)
	case name == "cpu":
		return strconv.FormatInt(n, 10) + "m"
	case !inBytes(name) || n > -1024 && n < 1024:
		return strconv.FormatInt(n, 10)
	}
	unit, at := int64(1), -1
	for n/unit >= 1024 || n/unit <= -1024 {
		unit, at = unit<<10, at+1
	}
	out := strconv.FormatInt(n/unit, 10)
	hi, lo := bits.Mul64(abs(n%unit), 100)
	if parts, _ := bits.Div64(hi, lo, uint64(unit)); parts > 0 {
		out += strings.TrimRight("."+string([]byte{'0' + byte(parts/10), '0' + byte(parts%10)}), "0")
	}
	return out + units[at]
}

var units = [...]string{"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}

func abs(n int64) uint64 {
	if n < 0 {
		return uint64(-n)
	}
	return uint64(n)
}

// inBytes reports whether a resource is counted in bytes.
func inBytes(name string) bool {
	return name == "memory" || name == "ephemeral-storage" || name == "storage" || strings.HasPrefix(name, "hugepages-")
}

// Exact returns n of a resource without rounding, in the unit that [Human] has: "7820m", "32749125Ki".
func Exact(name string, n int64) string {
	switch {
	case name == "cpu":
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case inBytes(name):
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return strconv.FormatInt(n, 10)
}
