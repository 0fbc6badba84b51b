package live

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

var logLevel = flag.Int("log", -1, "level of the schedulers' logs; -1 drops them")

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		if err := runChild(role); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	if *logLevel >= 0 {
		klog.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(*logLevel), textlogger.Output(os.Stderr))))
	}
	os.Exit(m.Run())
}
