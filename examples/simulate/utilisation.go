package main

import (
	"fmt"
	"io"
	"math/big"
	"text/tabwriter"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podberth/podberth/cluster"
)

// usage is what all nodes together offer and what their pods ask for, by resource.
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

// writeUsage prints what was and is asked for of what there is.
func writeUsage(out io.Writer, before, after usage) error {
	t := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, "\nRESOURCE\tALLOCATABLE\tREQUESTED BEFORE\tREQUESTED AFTER")
	for _, name := range after.names {
		total := after.offered[name]
		old, oldTotal := before.wanted[name], before.offered[name]
		if old == nil {
			old, oldTotal = new(big.Int), new(big.Int)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", name, amount(name, total), share(name, old, oldTotal), share(name, after.wanted[name], total))
	}
	return t.Flush()
}

func amount(name string, n *big.Int) string {
	if !n.IsInt64() {
		return n.String()
	}
	switch v1.ResourceName(name) {
	case v1.ResourceCPU:
		return resource.NewMilliQuantity(n.Int64(), resource.DecimalSI).String()
	case v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return resource.NewQuantity(n.Int64(), resource.BinarySI).String()
	}
	return n.String()
}

func share(name string, n, total *big.Int) string {
	if total.Sign() == 0 {
		return amount(name, n)
	}
	percent := new(big.Int).Div(new(big.Int).Mul(n, big.NewInt(100)), total)
	return fmt.Sprintf("%s (%s%%)", amount(name, n), percent)
}
