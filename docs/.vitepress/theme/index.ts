// The default theme without its fonts, so that a page loads nothing but itself.
import Theme from "vitepress/theme-without-fonts";
import "./style.css";

export default Theme;
