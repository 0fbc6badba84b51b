package pressure_test

import (
	"context"
	"io"
	"os"

	"github.com/podberth/podberth/tools/pressure"
)

// What the kubelet does on a node of the shipped pods that runs out of processes.
func ExampleRun() {
	pressure.Run(context.Background(), []string{"-f", "testdata/pods.yaml", "-summary", "testdata/pids.json", "-kubelet", "testdata/kubelet.yaml"}, nil, os.Stdout, io.Discard)
	// Output:
	// Node general-a1 at 2026-03-02T08:20:07Z, file system layout single
	//
	// SIGNAL                        THRESHOLD    GRACE   AVAILABLE   CAPACITY   TARGET   STATE
	// memory.available              500Mi        -       6Gi         32Gi       1524Mi   ok
	// memory.available              1536Mi       1m30s   6Gi         32Gi       2.5Gi    ok
	// allocatableMemory.available   500Mi        -       4.4Gi       29.5Gi     1524Mi   ok
	// nodefs.available              10% = 20Gi   -       88Gi        200Gi      25Gi     ok
	// nodefs.inodesFree             5% = 640Ki   -       11200k      13107200   640Ki    ok
	// imagefs.available             15% = 30Gi   -       88Gi        200Gi      30Gi     ok
	// imagefs.inodesFree            5% = 640Ki   -       11200k      13107200   640Ki    ok
	// containerfs.available         10% = 20Gi   -       88Gi        200Gi      25Gi     ok
	// containerfs.inodesFree        5% = 640Ki   -       11200k      13107200   640Ki    ok
	// pid.available                 5% = 1638    -       1358        32768      1638     met
	//
	// Conditions: PIDPressure
	// Acting:     pid.available
	// Until:      nothing changes by itself before 2026-03-02T08:25:07Z
	// Evict:      batch/report-4xk8b (grace 1s): The node was low on resource: pids. Threshold quantity: 1638, available: 1358.
	// Allocatable: cpu 7, ephemeral-storage 164.99Gi, memory 29.01Gi, pods 110
	//
	// Ranking for pid.available, first evicted first:
	//      POD                                 OVER REQUEST   PRIORITY     USAGE   REQUEST   NEVER EVICTED       PLACE
	// 1    batch/report-4xk8b                  yes            -100         64      0         -                   first
	// 2    batch/report-p2m6c                  yes            -100         58      0         -                   fewer processes
	// 3    ml/notebook-5b7c9-lzfs8             yes            0            29640   0         -                   priority 0 after -100
	// 4    shop/cart-6d4b75cb6d-7t9fz          yes            0            31      0         -                   fewer processes
	// 5    platform/log-shipper-9qv4d          yes            0            14      0         -                   fewer processes
	// 6    data/cache-0                        yes            0            7       0         -                   fewer processes
	// 7    shop/web-6d4b75cb6d-hh2sx           yes            100000       46      0         -                   priority 100000 after 0
	// 8    shop/web-6d4b75cb6d-w5jtl           yes            100000       44      0         -                   fewer processes
	// 9    kube-system/node-agent-x7k2p        yes            2000001000   18      0         critical priority   priority 2000001000 after 100000
	// 10   kube-system/kube-proxy-general-a1   yes            2000001000   9       0         static pod          fewer processes
	//
	// Until 1638 of pid.available are available, if nothing else changes:
	// POD                       GRACE   FREES   AVAILABLE
	// batch/report-4xk8b        1s      64      1422
	// batch/report-p2m6c        1s      58      1480
	// ml/notebook-5b7c9-lzfs8   1s      29640   31120
}
