package place

import (
	"bytes"
	"fmt"
	"math/big"

	v1 "k8s.io/api/core/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/tools/report"
)

// usage is what all nodes together offer, and what their pods ask for, by resource.
type usage struct {
	names           []string
	offered, wanted map[string]*big.Int
}

func usageOf(c *cluster.Snapshot) usage {
	u := usage{offered: map[string]*big.Int{}, wanted: map[string]*big.Int{}}
	for col := range c.Schema().Len() {
		name, offered, wanted := string(c.Schema().Name(col)), new(big.Int), new(big.Int)
		for _, i := range c.Order() {
			offered.Add(offered, big.NewInt(c.Allocatable(int(i)).At(col)))
			wanted.Add(wanted, big.NewInt(c.Requested(int(i)).At(col)))
		}
		if offered.Sign() == 0 && wanted.Sign() == 0 {
			continue
		}
		u.names = append(u.names, name)
		u.offered[name], u.wanted[name] = offered, wanted
	}
	return u
}

// writeUsage prints what pods ask for before and after the run, and what the nodes offer.
func writeUsage(out *bytes.Buffer, before, after usage) {
	var rows [][]string
	for _, name := range after.names {
		total := after.offered[name]
		old, oldTotal := before.wanted[name], before.offered[name]
		if old == nil {
			old, oldTotal = new(big.Int), new(big.Int)
		}
		rows = append(rows, []string{name, report.Short(amount(name, total)), share(name, old, oldTotal), share(name, after.wanted[name], total)})
	}
	fmt.Fprint(out, "\n", report.Columns([]string{"RESOURCE", "ALLOCATABLE", "REQUESTED BEFORE", "REQUESTED AFTER"}, rows))
}

func amount(name string, n *big.Int) string { return report.Amount(v1.ResourceName(name), n) }

func share(name string, n, total *big.Int) string {
	if total.Sign() == 0 {
		return report.Short(amount(name, n))
	}
	percent := new(big.Int).Div(new(big.Int).Mul(n, big.NewInt(100)), total)
	return fmt.Sprintf("%s (%s%%)", report.Short(amount(name, n)), percent)
}
