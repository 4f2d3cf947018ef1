import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.CurrentUserContext;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.internal.SQLConf;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Looks at each statement of the sessions that come over Thrift, before Spark does what it says.
 *
 * guard.py says what is allowed, and lets Spark's own compiler, Janino, make this class when the
 * server starts. Janino knows no lambdas and no types of elements.
 */
public final class Guard {
    private static final String MARK = "cdc_lakehouse.guarded";

    private final String owner;
    private final boolean isReadOnly;
    private final Map pinned;
    private final Set reading;
    private final Set writing;
    private final Set settings;
    private final Set functions;
    private Map first = new HashMap();

    /**
     * @param owner the user who may write; others read only.
     * @param isReadOnly whether the owner reads only, too.
     * @param pinned settings that no session changes.
     * @param reading names of classes of statements that everybody may use.
     * @param writing those of the owner, beside them.
     * @param settings names of those that a session may change.
     * @param functions names of those that nobody may use, in small letters.
     */
    public Guard(String owner, boolean isReadOnly, Map pinned, Set reading, Set writing,
            Set settings, Set functions) {
        this.owner = owner;
        this.isReadOnly = isReadOnly;
        this.pinned = new HashMap(pinned);
        this.reading = reading;
        this.writing = writing;
        this.settings = settings;
        this.functions = functions;
    }

    /** Return a session whose children are looked at; those of `root` are not. */
    public SparkSession open(SparkSession root) {
        org.apache.spark.sql.classic.SparkSession own =
            (org.apache.spark.sql.classic.SparkSession) root;
        own.sessionState(); // it has its parser before this one is there
        own.extensions().injectParser(new Parsers(this));
        own.extensions().injectCheckRule(new Checks(this));
        Map marked = new HashMap(pinned);
        marked.put(MARK, "true");
        org.apache.spark.sql.classic.SparkSession opened =
            new org.apache.spark.sql.classic.SparkSession(
                own.sparkContext(), scala.Option.apply(own.sharedState()), scala.Option.empty(),
                own.extensions(), PythonUtils.toScalaMap(marked),
                PythonUtils.toScalaMap(new HashMap()));
        // Each of its children begins with these; what is set later is not from the server.
        first = new HashMap(opened.sessionState().conf().settings());
        return opened;
    }

    static boolean isMarked(Object session) {
        return ((org.apache.spark.sql.classic.SparkSession) session)
            .initialSessionOptions().contains(MARK);
    }

    private boolean mayWrite() {
        return !isReadOnly && owner.equals(CurrentUserContext.getCurrentUser());
    }

    private static SecurityException refused(String what) {
        return new SecurityException("Refused over Thrift: " + what);
    }

    private SecurityException refusedStatement(String name) {
        boolean isOthers = writing.contains(name);
        return refused(name + (isOthers
            ? ". This session may only read: the tables are written by dbt, and over Thrift by "
                + owner + " where the server is not --read-only."
            : " is no statement of those that are allowed. docs/serving.md of cdc_lakehouse lists "
                + "them; on the machine of the server, `lakehouse query` runs any."));
    }

    /** Undo what the session or the address of its connection has set beyond what is allowed. */
    void restoreSettings(SQLConf conf) {
        Map now = new HashMap(conf.settings());
        for (Iterator i = now.keySet().iterator(); i.hasNext();) {
            String name = (String) i.next();
            if (!first.containsKey(name) && !settings.contains(name)) conf.unsetConf(name);
        }
        for (Iterator i = first.entrySet().iterator(); i.hasNext();) {
            Map.Entry entry = (Map.Entry) i.next();
            String name = (String) entry.getKey();
            if (!settings.contains(name) && !entry.getValue().equals(now.get(name)))
                conf.setConfString(name, (String) entry.getValue());
        }
    }

    /** Look at a plan as it was parsed, with all that is in it. */
    void checkParsed(Object each) {
        if (each instanceof LogicalPlan) checkStatement((LogicalPlan) each);
        String kind = each == null ? "" : each.getClass().getSimpleName();
        if (kind.equals("UnresolvedFunction") || kind.equals("UnresolvedTableValuedFunction")) {
            String[] names = parts(call(each, kind.equals("UnresolvedFunction")
                ? "nameParts" : "name"));
            String name = names[names.length - 1].toLowerCase(java.util.Locale.ROOT);
            if (functions.contains(name)) throw refused("the function " + name + ".");
            if (name.equals("table_changes")) checkName(String.valueOf(each));
        }
        if (kind.equals("UnresolvedTableSpec")) checkTable(each);
        if (kind.equals("TableIdentifier")) checkName(String.valueOf(each));
        if (each instanceof scala.collection.Iterable) {
            for (scala.collection.Iterator i = ((scala.collection.Iterable) each).iterator();
                    i.hasNext();) checkParsed(i.next());
        } else if (each instanceof scala.Product) {
            for (scala.collection.Iterator i = ((scala.Product) each).productIterator();
                    i.hasNext();) checkParsed(i.next());
        }
    }

    private void checkStatement(LogicalPlan plan) {
        String name = plan.getClass().getSimpleName();
        if (name.equals("UnresolvedDeltaPathOrIdentifier")
                ? ((scala.Option) call(plan, "path")).isDefined() : name.indexOf("PathBased") >= 0)
            throw refused("a path in the place of a table.");
        if (name.equals("UnresolvedRelation") || name.equals("UnresolvedTable")
                || name.equals("UnresolvedTableOrView") || name.equals("UnresolvedView")
                || name.equals("UnresolvedIdentifier"))
            checkNames(plan);
        if (name.equals("ScriptTransformation") || name.equals("InsertIntoDir"))
            throw refused(name.equals("InsertIntoDir")
                ? "INSERT OVERWRITE DIRECTORY." : "TRANSFORM, which starts a program.");
        if (!(plan instanceof Command) && !(plan instanceof ParsedStatement)) return;
        if (name.equals("SetCommand")) checkSetting(call(plan, "kv"));
        if (name.equals("CreateNamespace")
                && ((scala.collection.immutable.Map) call(plan, "properties")).contains("location"))
            throw refused("a schema with a location of its own.");
        boolean isTemporary = name.equals("CreateViewCommand")
            && String.valueOf(call(plan, "viewType")).startsWith("LocalTempView");
        if (!reading.contains(name) && !isTemporary && !(mayWrite() && writing.contains(name)))
            throw refusedStatement(name);
    }

    private void checkNames(LogicalPlan plan) {
        for (scala.collection.Iterator i = ((scala.Product) plan).productIterator(); i.hasNext();) {
            Object each = i.next();
            if (!(each instanceof scala.collection.immutable.Seq)) continue;
            String[] names = parts(each);
            for (int n = 0; n < names.length; n++) checkName(names[n]);
        }
    }

    /** Refuse a name that is a path; a relative one is no table, by the pinned settings. */
    private void checkName(String name) {
        if (name.indexOf('/') >= 0) throw refused(name + " in the place of a table.");
    }

    private void checkTable(Object table) {
        boolean isElsewhere = ((scala.Option) call(table, "location")).isDefined()
            || ((Boolean) call(table, "external")).booleanValue()
            || ((scala.collection.Iterable) call(call(table, "optionExpression"), "options"))
                .iterator().hasNext();
        if (isElsewhere) throw refused("a table with a LOCATION or OPTIONS of its own.");
    }

    private void checkSetting(Object pair) {
        String name = "SET without a name";
        if (((scala.Option) pair).isDefined())
            name = (String) ((scala.Tuple2) ((scala.Option) pair).get())._1();
        if (!name.equals("-v") && !settings.contains(name))
            throw refused(name + ". A session may look at and change these settings: " + settings);
    }

    /** Look for calls of Java in a plan with all names resolved, however they were named. */
    void checkResolved(Object each) {
        if (each instanceof Expression) {
            String name = each.getClass().getName();
            if (name.endsWith("MethodViaReflection") || name.indexOf(".sql.hive.") >= 0)
                throw refused("a function that calls Java.");
        }
        if (each instanceof scala.collection.Iterable) {
            for (scala.collection.Iterator i = ((scala.collection.Iterable) each).iterator();
                    i.hasNext();) checkResolved(i.next());
        } else if (each instanceof LogicalPlan || each instanceof Expression
                || each instanceof scala.Tuple2) {
            for (scala.collection.Iterator i = ((scala.Product) each).productIterator();
                    i.hasNext();) checkResolved(i.next());
        }
    }

    private static String[] parts(Object names) {
        scala.collection.Iterable all = (scala.collection.Iterable) names;
        String[] texts = new String[all.size()];
        int n = 0;
        for (scala.collection.Iterator i = all.iterator(); i.hasNext();)
            texts[n++] = String.valueOf(i.next());
        return texts;
    }

    private static Object call(Object each, String method) {
        try {
            return each.getClass().getMethod(method, new Class[0]).invoke(each, new Object[0]);
        } catch (Exception error) {
            throw refused(each.getClass().getSimpleName() + ", which cannot be looked into.");
        }
    }

    public static final class Parsers extends AbstractFunction2 {
        private final Guard guard;

        public Parsers(Guard guard) { this.guard = guard; }

        public Object apply(Object session, Object parser) {
            if (!isMarked(session)) return parser;
            return Proxy.newProxyInstance(
                ParserInterface.class.getClassLoader(), new Class[] {ParserInterface.class},
                new Parser(guard, (org.apache.spark.sql.classic.SparkSession) session, parser));
        }
    }

    public static final class Parser implements InvocationHandler {
        private final Guard guard;
        private final org.apache.spark.sql.classic.SparkSession session;
        private final Object parser;

        Parser(Guard guard, org.apache.spark.sql.classic.SparkSession session, Object parser) {
            this.guard = guard;
            this.session = session;
            this.parser = parser;
        }

        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            guard.restoreSettings(session.sessionState().conf());
            try {
                Object parsed = method.invoke(parser, arguments);
                if (parsed instanceof LogicalPlan) guard.checkParsed(parsed);
                return parsed;
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }
    }

    public static final class Checks extends AbstractFunction1 {
        private final Guard guard;

        public Checks(Guard guard) { this.guard = guard; }

        public Object apply(Object session) {
            return isMarked(session) ? new Check(guard) : new Check(null);
        }
    }

    public static final class Check extends AbstractFunction1 {
        private final Guard guard;

        public Check(Guard guard) { this.guard = guard; }

        public Object apply(Object plan) {
            if (guard != null) guard.checkResolved(plan);
            return BoxedUnit.UNIT;
        }
    }
}
