package volumes

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/podberth/podberth/filter"
)

// benchWorld has n nodes in 3 zones, 300 free local volumes, and on every node two pods that have one volume each.
func benchWorld(n int) *world {
	w := &world{classes: classes(storageClass("s", noProvisioner, wait), storageClass("dynamic", "d", wait)), drivers: []*storagev1.CSIDriver{driver("d", true)}}
	for z := range 3 {
		w.capacities = append(w.capacities, capacityOf(fmt.Sprint("k", z), "dynamic", "10Gi", map[string]string{v1.LabelTopologyZone: fmt.Sprint(z)}))
	}
	for i := range n {
		w.nodes = append(w.nodes, node(fmt.Sprint("n", i), v1.LabelTopologyZone, fmt.Sprint(i%3)))
		w.csiNodes = append(w.csiNodes, csiNode(w.nodes[i].Name, map[string]int32{"d": 30}))
		for k := range 2 {
			name := fmt.Sprintf("r%d-%d", i, k)
			w.claims = append(w.claims, claim(name, "", "1Gi", boundTo("v"+name)))
			w.volumes = append(w.volumes, volume("v"+name, "", "1Gi"))
			w.put(i, pod(name, name))
		}
	}
	for k := range 300 {
		w.volumes = append(w.volumes, volume(fmt.Sprint("free", k), "s", fmt.Sprint(1+k%9, "Gi"), on(v1.LabelTopologyZone, fmt.Sprint(k%3))))
	}
	w.claims = append(w.claims, claim("bound", "", "1Gi", boundTo("vr0-0"), rwop), claim("static", "s", "5Gi"), claim("dynamic", "dynamic", "5Gi"))
	w.volumes[0].Labels[v1.LabelTopologyZone] = "0__1"
	return w
}

var sink int

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{5000, 50000} {
		w := benchWorld(n)
		for how, c := range map[string]filter.Cluster{"plain": w, "classes": classy{w}} {
			for _, plugin := range plugins(Compile(pod("p", "bound", "static", "dynamic"), w.objects(), Options{}), c) {
				s := plugin.count()
				b.Run(fmt.Sprint(s.Name(), "/", how, "/", n), func(b *testing.B) {
					for b.Loop() {
						for i := range n {
							sink += int(s.Check(i))
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
				})
			}
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	w := benchWorld(5000)
	o := w.objects()
	p := pod("p", "bound", "static", "dynamic")
	b.Run("binding/10300 volumes", func(b *testing.B) {
		x := o
		x.PersistentVolumes = unindexed{o.PersistentVolumes}
		for b.Loop() {
			sink += len(Compile(p, x, Options{}).binding().delayed)
		}
	})
	b.Run("binding with an index", func(b *testing.B) {
		for b.Loop() {
			sink += len(Compile(p, o, Options{}).binding().delayed)
		}
	})
	b.Run("restrictions on a usage", func(b *testing.B) {
		e := Compile(p, o, Options{}).Restrictions()
		u := NewUsage(w, o)
		for b.Loop() {
			sink += e.On(u).(*restrictionsState).conflicts
		}
	})
	b.Run("usage/10000 pods", func(b *testing.B) {
		for b.Loop() {
			sink += len(NewUsage(w, o).slots)
		}
	})
	b.Run("limits on a usage", func(b *testing.B) {
		u := NewUsage(w, o)
		for b.Loop() {
			sink += len(Compile(p, o, Options{}).Limits().On(u).(*limitsState).drivers)
		}
	})
}

func BenchmarkLedger(b *testing.B) {
	w := benchWorld(100)
	l := NewLedger(w.objects())
	p := pod("p", "static")
	d, _ := Compile(p, l.Objects(), Options{}).Binding().On(w).Bindings(0)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Assume(p, w.nodes[0], d); err != nil {
			b.Fatal(err)
		}
		l.Forget(p.UID)
	}
}
