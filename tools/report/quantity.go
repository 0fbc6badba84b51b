package report

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/resources"
)

// Amount returns n of a resource as people write it: "500m" of cpu, "30.5Gi" of resources in bytes, and whole numbers of
// every other resource. The unit of n is that of package resources: thousandths of cpu, bytes, or whole numbers. Bytes have
// at most two decimals, rounded down. An amount beyond int64 is a plain number.
func Amount(name v1.ResourceName, n *big.Int) string {
	if !n.IsInt64() {
		return n.String()
	}
	return resources.Human(string(name), n.Int64())
}

// Short writes the text of a quantity for tables: bytes rounded to tenths of Gi, and 10 cpus or more in cpus, with one decimal below
// 100, rounded to zero. Bytes of at most eight characters, and texts that are no quantity, stay as they are.
func Short(text string) string {
	if milli, ok := strings.CutSuffix(text, "m"); ok {
		n, err := strconv.ParseInt(milli, 10, 64)
		switch {
		case err != nil || -10_000 < n && n < 10_000:
			return text
		case n%1000/100 == 0 || n >= 100_000 || n <= -100_000:
			return strconv.FormatInt(n/1000, 10)
		}
		return fmt.Sprintf("%d.%d", n/1000, max(n, -n)%1000/100)
	}
	if len(text) <= 8 {
		return text
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return text
	}
	return strings.Replace(fmt.Sprintf("%.1fGi", q.AsApproximateFloat64()/(1<<30)), ".0Gi", "Gi", 1)
}
